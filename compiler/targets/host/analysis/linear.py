"""Affine expressions along a row: 64-bit values as a multiple of the place in the row plus uniform values.

All arithmetic is modulo 2**64, where sums and products are exact. A value of 32 bits counts only if the IR says that it
does not wrap around: if it does wrap, no thread may use it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gridjit.compiler.targets.host.analysis.terms import plus
from gridjit.compiler.targets.host.ir.body import opcode, used
from gridjit.compiler.targets.host.ir.instructions import Computed, computed

# A value is a dictionary: how often each part counts. Two parts have names: the place along the row, the constant.
PLACE, ONE = "place", "1"
Linear = dict[str, int]

_OPERATIONS = frozenset(("add", "sub", "mul", "shl", "or"))
_SHIFTS = frozenset(("shl", "lshr", "ashr"))
_SIMPLE = frozenset(("add", "sub", "mul", "and", "or", "xor", "icmp", "select", "sext", "zext", "trunc"))


class Row:
    """What is known of a kernel's values along a row of threads, on the axis x or y.

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

    def value(self, name: str) -> Linear | None:
        """Return a value of 64 bits as a linear one, if it is one."""
        if not name.startswith("%"):
            return {ONE: int(name)}
        if self.varies(name) is not True:
            return {name: 1} if self.varies(name) is False else None
        found = computed(self.lines.get(name, ""))
        if found and found.operation in ("zext", "sext") and _is_cast(found, "i32", "i64"):
            nneg = "nneg" in found.flags
            return self.widened(found.operands[0], "sext" if nneg else found.operation, nneg=nneg)
        if found is None or not _is_arithmetic(found):
            return None
        a, b = found.operands
        return self._combined(found, self.value(a), self.value(b))

    def _combined(self, found: Computed, a: Linear | None, b: Linear | None) -> Linear | None:
        operation = found.operation
        if a is None or b is None or (operation == "or" and "disjoint" not in found.flags):
            return None
        if operation in ("mul", "shl"):
            return _scaled(operation, a, b)
        return plus(a, b, -1 if operation == "sub" else 1)

    def widened(self, name: str, how: str, *, nneg: bool = False) -> Linear | None:
        """Return a value of 32 bits, widened, as the sum of its parts widened."""
        if not name.startswith("%"):
            return {ONE: int(name)} if how == "sext" or int(name) >= 0 else None
        if self.varies(name) is False:
            return {f"{how} {name}": 1}
        if name == self.place:
            return {PLACE: 1}
        found, exact = computed(self.lines.get(name, "")), "nsw" if how == "sext" else "nuw"
        if found and found.operation == "trunc" and _is_cast(found, "i64", "i32"):
            return self.value(found.operands[0]) if exact in found.flags else None
        if found is None or not _is_arithmetic(found):
            return None
        a, b = found.operands
        if not (exact in found.flags or b == "0" or (nneg and "nsw" in found.flags)):
            return None
        return self._combined(found, self.widened(a, how), self.widened(b, how))


def _is_arithmetic(found: Computed) -> bool:
    return found.operation in _OPERATIONS and found.type in ("i32", "i64") and found.is_binary


def _is_cast(found: Computed, kind: str, to: str) -> bool:
    """Return whether a cast is of a value, from one type to another."""
    return (found.type, found.to) == (kind, to) and len(found.operands) == 1 and found.operands[0].startswith("%")


def _is_shifted(line: str) -> bool:
    """Return whether an instruction shifts a value by a number of places."""
    found = computed(line)
    return (
        found is not None and found.operation in _SHIFTS and len(found.operands) == 2 and found.operands[1].isdecimal()
    )


def _scaled(operation: str, a: Linear, b: Linear) -> Linear | None:
    for one, other in ((a, b), (b, a)):
        if set(other) <= {ONE} and (operation == "mul" or other is b):
            times = other.get(ONE, 0) if operation == "mul" else 1 << min(other.get(ONE, 0), 63)
            return {part: count * times for part, count in one.items()}
    return None
