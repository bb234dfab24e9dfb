"""Affine expressions: a 64-bit value as other values times whole numbers, plus a constant, however LLVM wrote it.

Where parts of a sum wrap around in 64 bits, that cancels out in the whole. A narrower sum is widened part by part only
if it is known not to wrap.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.host.analysis.terms import plus
from gridjit.compiler.targets.host.ir.body import defined
from gridjit.compiler.targets.host.ir.instructions import Computed, computed, is_value

# A sum is a dictionary: how often each part counts, the constant under this name.
_ONE = "1"
Sum = dict[str, int]


def sum_of(name: str, lines: Mapping[str, str]) -> Sum:
    """Return a value as a sum; as itself, if that is all that is known. Widened parts have names like "zext %i"."""
    if not name.startswith("%"):
        return plus({}, {_ONE: int(name)})
    line = lines.get(name, "")
    if (wide := _wide(line)) is not None and wide.operands[0].startswith("%"):
        return _widened(wide.operation, wide.operands[0], lines)
    if (found := _summed(line)) is None:
        return {name: 1}
    a, b = found.operands
    if found.operation == "xor":  # with all bits: -a - 1
        return plus({_ONE: -1}, sum_of(a, lines), -1) if b == "-1" else {name: 1}
    return plus(sum_of(a, lines), sum_of(b, lines), -1 if found.operation == "sub" else 1)


def written(total: Sum, lines: Mapping[str, str], name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the value that is a sum, and the instructions that compute it under names that begin with one.

    None if a part of it does not have a name, or counts more than once.
    """
    wide = {one: found for one, line in lines.items() if (found := _wide(line)) is not None}
    named = {f"{found.operation} {found.operands[0]}": one for one, found in wide.items()}
    parts = [(named.get(part, part), times) for part, times in total.items() if part != _ONE]
    if any(abs(times) != 1 or " " in part for part, times in parts):
        return None
    parts.sort(key=lambda part: -part[1])
    value, rest = (parts[0][0], parts[1:]) if parts and parts[0][1] == 1 else ("0", parts)
    made: list[str] = []
    for part, times in rest:
        made.append(f'%"{name}.{len(made)}" = {"add" if times == 1 else "sub"} i64 {value}, {part}')
        value = defined(made[-1]) or ""
    if constant := total.get(_ONE, 0):
        made.append(f'%"{name}.{len(made)}" = add i64 {value}, {constant}')
        value = defined(made[-1]) or ""
    return value, tuple(made)


def added(one: str, other: str, lines: Mapping[str, str]) -> Sum:
    """Return the sum of two values."""
    return plus(sum_of(one, lines), sum_of(other, lines))


def _widened(kind: str, name: str, lines: Mapping[str, str]) -> Sum:
    """Return a widened value of 32 bits: as the sum of its parts widened, unless it is not a sum or may wrap."""
    if not name.startswith("%"):
        return plus({}, {_ONE: int(name)})  # a negative one is not widened by zext: who asks has looked
    whole = {f"{kind} {name}": 1}
    if (found := _summed(lines.get(name, ""))) is None:
        return whole
    operation, operands = found.operation, found.operands
    wraps = ("nuw" if kind == "zext" else "nsw") not in found.flags and operands[1] != "0"
    negative = kind == "zext" and any(one.startswith("-") for one in operands)
    if operation not in ("add", "sub") or wraps or negative:
        return whole
    a, b = (_widened(kind, one, lines) for one in operands)
    return plus(a, b, -1 if operation == "sub" else 1)


def _wide(line: str) -> Computed | None:
    """Return what an instruction says that widens 32 bits to 64; None for any other."""
    found = computed(line)
    if found is None or found.operation not in ("zext", "sext") or (found.type, found.to) != ("i32", "i64"):
        return None
    return found if len(found.operands) == 1 and is_value(found.operands[0]) else None


def _summed(line: str) -> Computed | None:
    """Return what an instruction says that adds, subtracts or flips bits; None for any other."""
    found = computed(line)
    if found is None or not found.is_binary or not found.type.startswith("i"):
        return None
    if found.operation == "or":
        return found if found.flags == ("disjoint",) else None
    return found if found.operation in ("add", "sub", "xor") and found.wraps else None
