"""Pointers: the memory that an address in a kernel's body can be in, found by following it to its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gridjit.compiler.targets.host.analysis.affine import affine
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.intrinsics import SHARED_ARRAY
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.values.signature import ArgType, ArrayType, Signature, TupleType, array_codes

# Memory of which nothing is known, constant memory, a local array, what is not an array, and a block's shared memory,
# once arrays are placed in it.
UNKNOWN, CONSTANT, LOCAL, PRIVATE, BLOCK = "unknown", "constant", "local", "private", "block"
_ARGUMENT = "%arg."
# Operations that give one of several pointers; the first operand of a select is its condition.
_CHOICES = {"phi": 0, "select": 1, "freeze": 0}
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
        if (number := argument_number(at)) is not None:
            return {Argument(number)}
        if at == "%gj.shared":
            return {BLOCK}
        if (line := self.definitions.get(at)) is None:
            return {CONSTANT if "@" in at and not at.startswith("%") else UNKNOWN}
        made = parse(line)
        if made.callee_name.startswith(SHARED_ARRAY):
            return {SharedRoot(self.offsets[made.callee_name.removeprefix(SHARED_ARRAY)])}
        if made.opcode == "alloca":
            return {LOCAL if at in self.arrays else PRIVATE}
        return self._through(made, seen)

    def _through(self, made: Instruction, seen: set[str]) -> set[Root]:
        """Return the roots of an address that an instruction makes of others."""
        if made.opcode == "getelementptr" and made.kind == "ptr":
            return self._of(made.pointer, seen)
        if made.opcode in _CHOICES and made.result_type == "ptr":
            values = made.values[_CHOICES[made.opcode] :]
            return set[Root]().union(*(self._of(value, seen) for value in values))
        number = made.cast_of("i64", "ptr")
        base = base_of(number, self.definitions) if number else None
        return {UNKNOWN} if base is None else self._of(base.values[0], seen)


def argument_number(name: str) -> int | None:
    """Return the number of the kernel's parameter that a value is; None for other values."""
    number = name.removeprefix(_ARGUMENT)
    return int(number) if name.startswith(_ARGUMENT) and number.isdecimal() else None


def base_of(number: str, definitions: Mapping[str, str]) -> Instruction | None:
    """Return the instruction that gives a pointer as a number, if a sum is made of one pointer and of offsets.

    That is how numba finds items of arrays with strides of their own.
    """
    parts = affine(number, definitions).items()
    made = ((parse(definitions.get(part, "")), times) for part, times in parts)
    bases = [(one, times) for one, times in made if one.cast_of("ptr", "i64")]
    return bases[0][0] if len(bases) == 1 and bases[0][1] == 1 else None


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
