"""Steps: how a loop goes from place to place - where it starts, by what it steps, and the comparison that ends it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gridjit.compiler.targets.host.library.intrinsics import COORDINATES
from gridjit.compiler.targets.host.orders.sums import added, written
from gridjit.compiler.targets.host.regions.body import NAME, Block, arms, defined, opcode
from gridjit.regexes import regex

GOTO = regex(rf"br label ({NAME})$")
BRANCH = regex(rf"br i1 ({NAME}), label ({NAME}), label ({NAME})")
_BEFORE_END = regex(
    rf"{NAME} = icmp (?:samesign )?(?P<predicate>[su]l[te]) (?P<type>i\d+) (?P<a>{NAME}), (?P<b>\S+)$",
    needs=("slt ", "ult ", "sle ", "ule "),
)
_AFTER_END = regex(
    rf"{NAME} = icmp (?:samesign )?(?P<predicate>[su]g[te]) (?P<type>i\d+) (?P<b>\S+), (?P<a>{NAME})$",
    needs=("sgt ", "ugt ", "sge ", "uge "),
)
_STEP = regex(rf"{NAME} = add (?:nuw |nsw )*(?P<type>i\d+) (?P<a>{NAME}|\d+), (?P<b>{NAME}|\d+)$")
_SWAPPED = {"sgt": "slt", "sge": "sle", "ugt": "ult", "uge": "ule"}


def other(following: str, place: str, lines: Mapping[str, str], kind: str = "i64") -> str:
    """Return what is added to a place to get the following one, or "" if it is made in another way."""
    found = _STEP.match(lines.get(following, ""))
    if found is None or place not in (found["a"], found["b"]) or found["type"] != kind:
        return ""
    return found["b"] if found["a"] == place else found["a"]


def compared(condition: str, lines: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return the place that a condition compares with an end, the comparison, and the end."""
    line = lines.get(condition, "")
    if found := _BEFORE_END.match(line):
        return found["a"], found["predicate"], found["b"]
    if found := _AFTER_END.match(line):
        return found["a"], _SWAPPED[found["predicate"]], found["b"]
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
    end = written(added(ask[1], start, lines), lines, f"gj.end.{head.label[1:].strip(chr(34))}")
    return end if end is None or kind == "i64" or not end[1] else None


def is_non_negative(name: str, lines: Mapping[str, str]) -> bool:
    """Return whether a value is known not to be negative."""
    if not name.startswith("%"):
        return not name.startswith("-")
    if re.fullmatch(r"%gj\.n?(?:tid|ctaid)\.[xyz]", name):
        return True
    line = lines.get(name, "")
    operands = re.findall(rf"(?<=[ ,])({NAME}|-?\d+)(?=,|$| to)", line.partition(" = ")[2])
    grows = opcode(line) in ("add", "mul", "shl") and " nsw " in line if line else False
    copies = bool(line) and (opcode(line) == "zext" or (opcode(line) in ("sext", "add") and line.endswith(", 0")))
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
    line = lines.get(name, "")
    found = re.match(rf"{NAME} = (\w+) [a-z ]*?i\d+ ({NAME}|\d+)(?:, ({NAME}|\d+)$| to )", line)
    if found is None:
        return 1 << 64
    a, b = _most(found[2], lines), _most(found[3], lines) if found[3] else 0
    made = {"sext": a, "zext": a, "add": a + b, "mul": a * b, "shl": a << min(b, 64)}
    return made.get(found[1], 1 << 64)
