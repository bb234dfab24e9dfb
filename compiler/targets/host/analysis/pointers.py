"""Pointers: the memory that an address in a kernel's body can be in, found by following it to its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME, opcode
from gridjit.compiler.targets.host.ir.intrinsics import SHARED_ARRAY
from gridjit.compiler.values.signature import ArgType, ArrayType, Signature, TupleType, array_codes

# Memory of which nothing is known, constant memory, a local array, what is not an array, and a block's shared memory,
# once arrays are placed in it.
UNKNOWN, CONSTANT, LOCAL, PRIVATE, BLOCK = "unknown", "constant", "local", "private", "block"
_ARGUMENT = regex(r"%arg\.(\d+)$")
_GEP = regex(rf"getelementptr [^%@]*?ptr ({NAME}|@[^\s,]+)")
_SHARED = regex(rf'call [^@]*@"?{re.escape(SHARED_ARRAY)}(?P<name>[^"(]+)"?\(')
_VALUE = regex(rf"(?:ptr |\[ )({NAME}|@[^\s,\]]+|null|undef|poison)")
_ALLOCA = " = alloca "
# How numba finds items of arrays with strides of their own: the array's address as a number, and what is added.
_FROM_NUMBER = regex(rf"= inttoptr i64 ({NAME}) to ptr$")
_ADDED = regex(rf"= add (?:nuw |nsw )*i64 ({NAME}), ({NAME}|-?\d+)$")
_AS_NUMBER = regex(rf"= ptrtoint ptr ({NAME}) to i64$")
# Of an array's parameters, the address comes after so many.
_BEFORE_ADDRESS = array_codes(0).rindex("P")


@dataclass(frozen=True, slots=True)
class Argument:
    """The memory that the kernel's parameter of a number points to."""

    number: int


@dataclass(frozen=True, slots=True)
class SharedRoot:
    """A shared array, by where it starts in a block's shared memory; dynamic arrays all start at one place."""

    start: int


Root = str | Argument | SharedRoot


@dataclass(slots=True, kw_only=True)
class Roots:
    """Finds the roots of addresses. offsets: where shared arrays start; arrays: the allocas that are local arrays."""

    definitions: Mapping[str, str]
    offsets: Mapping[str, int]
    arrays: frozenset[str]
    known: dict[str, frozenset[Root]] = field(default_factory=dict)

    def of(self, at: str) -> frozenset[Root]:
        """Return all memory that an address can be in."""
        if at not in self.known:
            self.known[at] = frozenset(self._of(at, set()))
        return self.known[at]

    def only(self, at: str) -> Root | None:
        """Return the one piece of memory that an address is in; None if it can be in several."""
        roots = self.of(at)
        return next(iter(roots)) if len(roots) == 1 else None

    def _of(self, at: str, seen: set[str]) -> set[Root]:
        if at in seen:
            return set()
        seen.add(at)
        if found := _ARGUMENT.match(at):
            return {Argument(int(found[1]))}
        if at == "%gj.shared":
            return {BLOCK}
        if (line := self.definitions.get(at)) is None:
            return {CONSTANT if "@" in at else UNKNOWN}
        if found := _SHARED.search(line):
            return {SharedRoot(self.offsets[found["name"]])}
        if _ALLOCA in line:
            return {LOCAL if at in self.arrays else PRIVATE}
        return self._through(line, seen)

    def _through(self, line: str, seen: set[str]) -> set[Root]:
        """Return the roots of an address that an instruction makes of others."""
        if opcode(line) == "getelementptr" and (found := _GEP.search(line)):
            return self._of(found[1], seen)
        if opcode(line) in ("phi", "select", "freeze"):
            values = _VALUE.findall(line.partition(" = ")[2])
            return set[Root]().union(*(self._of(value, seen) for value in values))
        if found := _FROM_NUMBER.search(line):
            bases = self._bases(found[1])
            return self._of(bases[0], seen) if len(bases) == 1 else {UNKNOWN}
        return {UNKNOWN}

    def _bases(self, number: str) -> list[str]:
        """Return the addresses that a sum begins with."""
        line = self.definitions.get(number, "")
        if found := _AS_NUMBER.search(line):
            return [found[1]]
        found = _ADDED.search(line)
        return [] if found is None else [*self._bases(found[1]), *self._bases(found[2])]


def arrays_in(signature: Signature) -> Iterator[tuple[int, int]]:
    """Yield the number of each parameter that is an array's address, and the array's dimensions.

    They end where an extension's type takes parameters that cannot be counted.
    """
    number = 0
    for part in _flat(signature.arguments):
        if isinstance(part, ArrayType):
            yield number + _BEFORE_ADDRESS, part.ndim
        if part.codes and not part.codes.replace("?", "q").isalpha():
            return
        number += len(part.codes)


def _flat(arguments: tuple[ArgType, ...]) -> Iterator[ArgType]:
    for argument in arguments:
        if isinstance(argument, TupleType):
            yield from _flat(argument.items)
        else:
            yield argument
