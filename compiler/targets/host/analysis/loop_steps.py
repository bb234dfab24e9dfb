"""Loop steps: how a loop goes from place to place - its start, its step, and the comparison that ends it."""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.host.analysis.affine import added, computed_sum
from gridjit.compiler.targets.host.ir.body import Block, defined
from gridjit.compiler.targets.host.ir.instructions import Operand, is_value
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES
from gridjit.compiler.targets.host.ir.parse import parse

_GROWING = frozenset(("add", "mul", "shl"))
_BEFORE_END = frozenset(("slt", "sle", "ult", "ule"))
_SWAPPED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}


def other(following: str, place: str, lines: Mapping[str, str], kind: str = "i64") -> str:
    """Return the value added to a place to get the following one, or "" if it is made in another way."""
    found = parse(lines.get(following, ""))
    if found.opcode != "add" or found.kind != kind or not (found.wraps and found.is_binary):
        return ""
    a, b = found.values
    if place not in (a, b) or a.startswith("-") or b.startswith("-"):
        return ""
    return b if a == place else a


def compared(condition: str, lines: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return the place that a condition compares with an end, the comparison, and the end."""
    found = parse(lines.get(condition, ""))
    if found.opcode != "icmp" or found.notes or not found.kind.startswith("i"):
        return None
    predicate, (a, b) = found.predicate, found.values
    if predicate in _BEFORE_END and a.startswith("%"):
        return a, predicate, b
    if predicate in _SWAPPED and b.startswith("%"):
        return b, _SWAPPED[predicate], a
    return None


def compared_with(condition: str, predicate: str, number: str, lines: Mapping[str, str]) -> Operand | None:
    """Return the value that a condition compares so with a number, and nothing else; None for other conditions."""
    found = parse(lines.get(condition, ""))
    is_asked = (found.opcode, found.flags, found.values[1:], found.notes) == ("icmp", (predicate,), (number,), "")
    return found.operands[0] if is_asked else None


def end_of_range(
    blocks: Mapping[str, Block],
    met: str,
    head: Block,
    left: str,
    start: str,
    step: str,
    lines: Mapping[str, str],
    kind: str = "i64",
) -> tuple[str, tuple[str, ...]] | None:
    """Return the end of a range of a type, and the instructions that compute it unless the kernel has it.

    None unless what counts the turns is ceil((end - start) / step), or 0 if that is negative.
    """
    before = blocks[met]
    count = parse(before.lines[0])
    ways = [blocks[label] for _, label in count.arms]
    entry = next((one for one in ways if one.end.condition), before)
    counted = next((one for one in ways if one.label != entry.label), before)
    if len(before.lines) != 2 or len(ways) != 2 or entry.end.labels != (before.label, counted.label):
        return None
    phi = next(one for one in map(parse, head.phis) if one.result == left)
    down = next((value for value, label in phi.arms if label != before.label), "")
    if (count.result, before.label) not in phi.arms or not _is(lines.get(down, ""), f"{down} = add {kind} {left}, -1"):
        return None
    far = compared_with(entry.end.condition, "slt", "1", lines)
    if far is None or far.type != kind or not far.value.startswith("%"):
        return None
    if set(count.arms) != {(_rounded_up(counted, far, step), counted.label), ("0", entry.label)}:
        return None
    end = computed_sum(added(far.value, start, lines), lines, f"gj.end.{head.label[1:].strip(chr(34))}")
    return end if end is None or kind == "i64" or not end[1] else None


def _rounded_up(block: Block, number: Operand, step: str) -> str:
    """Return the value of ceil(number / step), if a block computes that and nothing else; else ""."""
    if len(block.lines) != 6:
        return ""
    rest, some, whole, more, total = (defined(line) for line in block.lines[:-1])
    wanted = (
        f"{rest} = urem {number}, {step}",
        f"{some} = icmp ne {number.type} {rest}, 0",
        f"{whole} = udiv {number}, {step}",
        f"{more} = zext i1 {some} to {number.type}",
        f"{total} = add {number.type} {whole}, {more}",
    )
    return total or "" if all(map(_is, block.lines, wanted)) else ""


def _is(line: str, wanted: str) -> bool:
    """Return whether a line is the wanted one; a sum may say that it does not wrap around."""
    found = parse(line)
    return str(found.without_poison() if found.opcode == "add" else found) == wanted


def is_non_negative(name: str, lines: Mapping[str, str]) -> bool:
    """Return whether a value is known not to be negative."""
    if not name.startswith("%"):
        return not name.startswith("-")
    if name.removeprefix("%gj.") in COORDINATES:
        return True
    found = parse(lines.get(name, ""))
    grows = found.opcode in _GROWING and "nsw" in found.flags
    copies = found.opcode == "zext" or (found.opcode == "add" and found.is_binary and found.values[1] == "0")
    known = (grows or copies) and found.known
    return known and all(is_value(one) and is_non_negative(one, lines) for one in found.values)


# The longest steps, a few times the largest grid: no thread takes as many of them as it would need to wrap around.
_SHORT = 1 << 45


def is_short(name: str, lines: Mapping[str, str]) -> bool:
    """Return whether a value is known not to be negative, and not to be much larger than the largest grid."""
    return is_non_negative(name, lines) and _most(name, lines) <= _SHORT


def _most(name: str, lines: Mapping[str, str]) -> int:
    """Return an upper bound of a value that is not negative, as low as is known."""
    if not name.startswith("%"):
        return int(name)
    if (coordinate := name.removeprefix("%gj.")) in COORDINATES:
        return COORDINATES[coordinate][1] - 1
    found = parse(lines.get(name, ""))
    if found.opcode in ("sext", "zext"):
        return _most(found.values[0], lines) if is_value(found.values[0]) else 1 << 64
    if found.opcode not in _GROWING or not found.is_binary:
        return 1 << 64
    a, b = (_most(one, lines) for one in found.values)
    return {"add": a + b, "mul": a * b, "shl": a << min(b, 64)}[found.opcode]
