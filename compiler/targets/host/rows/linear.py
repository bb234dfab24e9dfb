"""Linear values: 64-bit values as a multiple of the place along a row plus what is the same along it.

All arithmetic is modulo 2**64, where sums and products are exact. A value of 32 bits counts only if the IR says that it
does not wrap around: if it does wrap, no thread may use it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gridjit.compiler.targets.host.flow.terms import plus
from gridjit.compiler.targets.host.regions.body import NAME, opcode, used
from gridjit.regexes import regex

# A value is a dictionary: how often each part counts. Two parts have names: the place along the row, the constant.
PLACE, ONE = "place", "1"
Linear = dict[str, int]

_OPERAND = rf"({NAME}|-?\d+)"
_BINARY = regex(rf"{NAME} = (add|sub|mul|shl|or) ((?:nuw |nsw |disjoint )*)(i32|i64) {_OPERAND}, {_OPERAND}$")
_WIDENED = regex(rf"{NAME} = (zext|sext) (nneg )?i32 ({NAME}) to i64$")
_NARROWED = regex(rf"{NAME} = trunc ((?:nuw |nsw )*)i64 ({NAME}) to i32$", needs=("trunc",))
_SHIFTED = regex(rf"{NAME} = (?:shl|lshr|ashr) [a-z ]*i\d+ \S+, \d+$")
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
        if opcode(line) not in _SIMPLE and _SHIFTED.match(line) is None:
            return None
        parts = [self.varies(name) for name in used(line)]
        return None if None in parts else any(parts)

    def value(self, name: str) -> Linear | None:
        """Return a value of 64 bits as a linear one, if it is one."""
        if not name.startswith("%"):
            return {ONE: int(name)}
        if self.varies(name) is not True:
            return {name: 1} if self.varies(name) is False else None
        line = self.lines.get(name, "")
        if found := _WIDENED.match(line):
            return self.widened(found[3], "sext" if found[2] else found[1], nneg=bool(found[2]))
        found = _BINARY.match(line)
        return self._combined(found, self.value(found[4]), self.value(found[5])) if found else None

    def _combined(self, found: re.Match[str], a: Linear | None, b: Linear | None) -> Linear | None:
        operation, flags = found[1], found[2]
        if a is None or b is None or (operation == "or" and "disjoint" not in flags):
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
        line, exact = self.lines.get(name, ""), "nsw" if how == "sext" else "nuw"
        if found := _NARROWED.match(line):
            return self.value(found[2]) if exact in found[1] else None
        found = _BINARY.match(line)
        if found is None or not (exact in found[2] or found[5] == "0" or (nneg and "nsw" in found[2])):
            return None
        return self._combined(found, self.widened(found[4], how), self.widened(found[5], how))


def _scaled(operation: str, a: Linear, b: Linear) -> Linear | None:
    for one, other in ((a, b), (b, a)):
        if set(other) <= {ONE} and (operation == "mul" or other is b):
            times = other.get(ONE, 0) if operation == "mul" else 1 << min(other.get(ONE, 0), 63)
            return {part: count * times for part, count in one.items()}
    return None
