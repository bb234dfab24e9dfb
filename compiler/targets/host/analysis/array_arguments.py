"""Array arguments: which of a kernel's launch parameters are the addresses of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from gridjit.compiler.signature import ArgType, ArrayType, Signature, TupleType, array_codes

# Of an array's parameters, the address comes after so many.
_BEFORE_ADDRESS = array_codes(0).rindex("P")


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
