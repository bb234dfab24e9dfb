"""Affine expressions: a 64-bit value as other values times whole numbers, plus a constant, however LLVM wrote it.

All arithmetic is modulo 2**64, where sums and products are exact: what wraps around in a part cancels out in the whole.
A sum of 32 bits is widened part by part only if the IR says that it does not wrap around.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

from gridjit.compiler.targets.host.ir.body import defined, opcode, used
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.parse import parse

Part = TypeVar("Part", bound=Hashable)
# An expression is a dictionary: how often each part counts. Two parts have names: the constant, the place along a row.
ONE, PLACE = "1", "place"
Affine = dict[str, int]

_OPERATIONS = frozenset(("add", "sub", "mul", "shl", "or"))
_SHIFTS = frozenset(("shl", "lshr", "ashr"))
_SIMPLE = frozenset(("add", "sub", "mul", "and", "or", "xor", "icmp", "select", "sext", "zext", "trunc"))


def plus(one: Mapping[Part, int], other: Mapping[Part, int], times: int = 1) -> dict[Part, int]:
    """Return one sum plus `times` the other, without parts that cancel out."""
    total = {part: one.get(part, 0) + times * other.get(part, 0) for part in {**one, **other}}
    return {part: count for part, count in total.items() if count}


def affine(name: str, lines: Mapping[str, str]) -> Affine:
    """Return a value as an expression; as itself, if nothing is known. Widened parts have names like "zext %i"."""
    if not name.startswith("%"):
        return plus({}, {ONE: int(name)})
    found = parse(lines.get(name, ""))
    if wide := found.cast_of("i32", "i64"):
        return _widened(found.opcode, wide, lines)
    if not _is_sum(found):
        return {name: 1}
    a, b = found.values
    if found.opcode == "xor":  # with all bits: -a - 1
        return plus({ONE: -1}, affine(a, lines), -1) if b == "-1" else {name: 1}
    return plus(affine(a, lines), affine(b, lines), -1 if found.opcode == "sub" else 1)


def computed_sum(total: Affine, lines: Mapping[str, str], name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the value that is a sum, and the instructions that compute it under names that begin with one.

    None if a part of it does not have a name, or counts more than once.
    """
    read = ((one, parse(line)) for one, line in lines.items())
    named = {f"{found.opcode} {wide}": one for one, found in read if (wide := found.cast_of("i32", "i64"))}
    parts = [(named.get(part, part), times) for part, times in total.items() if part != ONE]
    if any(abs(times) != 1 or " " in part for part, times in parts):
        return None
    parts.sort(key=lambda part: -part[1])
    value, rest = (parts[0][0], parts[1:]) if parts and parts[0][1] == 1 else ("0", parts)
    made: list[str] = []
    for part, times in rest:
        made.append(f'%"{name}.{len(made)}" = {"add" if times == 1 else "sub"} i64 {value}, {part}')
        value = defined(made[-1]) or ""
    if constant := total.get(ONE, 0):
        made.append(f'%"{name}.{len(made)}" = add i64 {value}, {constant}')
        value = defined(made[-1]) or ""
    return value, tuple(made)


def added(one: str, other: str, lines: Mapping[str, str]) -> Affine:
    """Return the sum of two values."""
    return plus(affine(one, lines), affine(other, lines))


def _widened(kind: str, name: str, lines: Mapping[str, str]) -> Affine:
    """Return a widened value of 32 bits: as the sum of its parts widened, unless it is not a sum or may wrap."""
    if not name.startswith("%"):
        return plus({}, {ONE: int(name)})  # a negative one is not widened by zext: who asks has looked
    whole = {f"{kind} {name}": 1}
    found = parse(lines.get(name, ""))
    if not _is_sum(found):
        return whole
    operation, operands = found.opcode, found.values
    wraps = ("nuw" if kind == "zext" else "nsw") not in found.flags and operands[1] != "0"
    negative = kind == "zext" and any(one.startswith("-") for one in operands)
    if operation not in ("add", "sub") or wraps or negative:
        return whole
    a, b = (_widened(kind, one, lines) for one in operands)
    return plus(a, b, -1 if operation == "sub" else 1)


def _is_sum(found: Instruction) -> bool:
    """Return whether an instruction adds, subtracts or flips bits of integers."""
    if not found.is_binary or not found.kind.startswith("i"):
        return False
    if found.opcode == "or":
        return found.flags == ("disjoint",)
    return found.opcode in ("add", "sub", "xor") and found.wraps


class Row:
    """A kernel's values along a row of threads, on the axis x or y: uniform ones, and affine expressions.

    lines: the instructions by the names of their results. given: values that are the same along a row though nothing
    else is known of them.
    """

    def __init__(self, lines: Mapping[str, str], axis: str, given: Collection[str]) -> None:
        self.lines = lines
        self.place = f"%gj.tid.{axis}"
        self._varies: dict[str, bool | None] = {self.place: True, "%gj.thread": True, **dict.fromkeys(given, False)}

    def varies(self, name: str) -> bool | None:
        """Return whether a value varies along the row; None if that is not known before the row is run."""
        if not name.startswith("%"):
            return False
        if name not in self._varies:
            self._varies[name] = None  # until it is known: a loop leads back to the value
            self._varies[name] = self._made(self.lines[name]) if name in self.lines else False
        return self._varies[name]

    def _made(self, line: str) -> bool | None:
        if opcode(line) not in _SIMPLE and not _is_shifted(line):
            return None
        parts = [self.varies(name) for name in used(line)]
        return None if None in parts else any(parts)

    def value(self, name: str) -> Affine | None:
        """Return a value of 64 bits as a linear one, if it is one."""
        if not name.startswith("%"):
            return {ONE: int(name)}
        if self.varies(name) is not True:
            return {name: 1} if self.varies(name) is False else None
        found = parse(self.lines.get(name, ""))
        if wide := found.cast_of("i32", "i64"):
            nneg = "nneg" in found.flags
            return self.widened(wide, "sext" if nneg else found.opcode, nneg=nneg)
        if not _is_arithmetic(found):
            return None
        a, b = found.values
        return self._combined(found, self.value(a), self.value(b))

    def _combined(self, found: Instruction, a: Affine | None, b: Affine | None) -> Affine | None:
        operation = found.opcode
        if a is None or b is None or (operation == "or" and "disjoint" not in found.flags):
            return None
        if operation in ("mul", "shl"):
            return _scaled(operation, a, b)
        return plus(a, b, -1 if operation == "sub" else 1)

    def widened(self, name: str, how: str, *, nneg: bool = False) -> Affine | None:
        """Return a value of 32 bits, widened, as the sum of its parts widened."""
        if not name.startswith("%"):
            return {ONE: int(name)} if how == "sext" or int(name) >= 0 else None
        if self.varies(name) is False:
            return {f"{how} {name}": 1}
        if name == self.place:
            return {PLACE: 1}
        found, exact = parse(self.lines.get(name, "")), "nsw" if how == "sext" else "nuw"
        if whole := found.cast_of("i64", "i32"):
            return self.value(whole) if exact in found.flags else None
        if not _is_arithmetic(found):
            return None
        a, b = found.values
        if not (exact in found.flags or b == "0" or (nneg and "nsw" in found.flags)):
            return None
        return self._combined(found, self.widened(a, how), self.widened(b, how))


def _is_arithmetic(found: Instruction) -> bool:
    return found.opcode in _OPERATIONS and found.kind in ("i32", "i64") and found.is_binary


def _is_shifted(line: str) -> bool:
    """Return whether an instruction shifts a value by a number of places."""
    found = parse(line)
    return found.opcode in _SHIFTS and not found.notes and not found.is_vector and found.values[1].isdecimal()


def _scaled(operation: str, a: Affine, b: Affine) -> Affine | None:
    for one, other in ((a, b), (b, a)):
        if set(other) <= {ONE} and (operation == "mul" or other is b):
            times = other.get(ONE, 0) if operation == "mul" else 1 << min(other.get(ONE, 0), 63)
            return {part: count * times for part, count in one.items()}
    return None
