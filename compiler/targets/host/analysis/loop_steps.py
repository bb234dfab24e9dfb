"""Loop steps: how a loop goes from place to place - its start, its step, and the comparison that ends it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.analysis.affine import added, computed_sum
from gridjit.compiler.targets.host.ir.body import NAME, Block, arms, defined
from gridjit.compiler.targets.host.ir.instructions import is_value
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES
from gridjit.compiler.targets.host.ir.parse import parse

GOTO = regex(rf"br label ({NAME})$")
BRANCH = regex(rf"br i1 ({NAME}), label ({NAME}), label ({NAME})")
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
    (*_, predicate), (a, b) = found.flags, found.values
    if predicate in _BEFORE_END and a.startswith("%"):
        return a, predicate, b
    if predicate in _SWAPPED and b.startswith("%"):
        return b, _SWAPPED[predicate], a
    return None


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
    ways = [label for _, label in arms(before.lines[0])]
    entry = next((blocks[one] for one in ways if BRANCH.match(blocks[one].lines[-1])), before)
    counted = next((blocks[one] for one in ways if one != entry.label), before)
    if (
        len(before.lines) != 2
        or len(ways) != 2
        or len(counted.lines) != 6
        or (way := BRANCH.match(entry.lines[-1])) is None
    ):
        return None
    count = defined(before.lines[0]) or ""
    phi = next(line for line in head.phis if defined(line) == left)
    down = next((value for value, label in arms(phi) if label != before.label), "")
    if (count, before.label) not in arms(phi) or not re.fullmatch(
        rf"{re.escape(down)} = add (?:nuw |nsw )*{kind} {re.escape(left)}, -1", lines.get(down, "")
    ):
        return None
    ask = re.match(rf"{NAME} = icmp slt {kind} ({NAME}), 1$", lines.get(way[1], ""))
    if ask is None:
        return None
    names = {"far": re.escape(ask[1]), "step": re.escape(step), "kind": kind}
    wanted = (
        r"(?P<rest>\S+) = urem {kind} {far}, {step}",
        r"(?P<some>\S+) = icmp ne {kind} (?P<of_rest>\S+), 0",
        r"(?P<whole>\S+) = udiv {kind} {far}, {step}",
        r"(?P<more>\S+) = zext i1 (?P<of_some>\S+) to {kind}",
        r"(?P<sum>\S+) = add (?:nuw |nsw )*{kind} (?P<of_whole>\S+), (?P<of_more>\S+)",
    )
    got: dict[str, str] = {}
    for pattern, line in zip(wanted, counted.lines, strict=False):
        if (found := re.fullmatch(pattern.format(**names), line)) is None:
            return None
        got |= found.groupdict()
    if any(got[f"of_{name}"] != got[name] for name in ("rest", "some", "whole", "more")):
        return None
    if (way[2], way[3]) != (before.label, counted.label):
        return None
    if set(arms(before.lines[0])) != {(got["sum"], counted.label), ("0", entry.label)}:
        return None
    end = computed_sum(added(ask[1], start, lines), lines, f"gj.end.{head.label[1:].strip(chr(34))}")
    return end if end is None or kind == "i64" or not end[1] else None


def is_non_negative(name: str, lines: Mapping[str, str]) -> bool:
    """Return whether a value is known not to be negative."""
    if not name.startswith("%"):
        return not name.startswith("-")
    if name.removeprefix("%gj.") in COORDINATES:
        return True
    line = lines.get(name, "")
    found = parse(line)
    operands = [one for one in found.values if is_value(one)]
    grows = found.opcode in _GROWING and "nsw" in found.flags
    copies = found.opcode == "zext" or (found.opcode in ("sext", "add") and line.endswith(", 0"))
    return (grows or copies) and bool(operands) and all(is_non_negative(one, lines) for one in operands)


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
