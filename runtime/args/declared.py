"""Declared signatures: which of them a call may use, and how its arguments become what the signature says."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.item_types import ItemType
from gridjit.compiler.signature import ArgType, ArrayType, PointerType, ScalarType, Signature

Converter = Callable[[Sequence[Any]], Sequence[Any]]

_KINDS = "biufc"  # NumPy's letters: each converts to itself and to the later ones, but for sign and size
# More than any sum of conversions: another declared signature that takes the items as they are comes first.
_REINTERPRETED = 1000


def resolve(
    given: Signature, declared: Sequence[Signature], names: Sequence[str], function: object = "the kernel"
) -> Signature:
    """Return the declared signature that a call of the given types uses: the one with the fewest conversions.

    Raises ArgumentError naming the argument that fits none and what is accepted, or the signatures that fit equally.
    """
    if given in declared:
        return given
    ranked = {
        wanted: sum(cost for cost in costs if cost is not None)
        for wanted in declared
        if None not in (costs := costs_of(given, wanted))
    }
    fewest = min(ranked.values(), default=0)
    best = [wanted for wanted, conversions in ranked.items() if conversions == fewest]
    if len(best) == 1:
        return best[0]
    raise ArgumentError(_ambiguity(function, given, best) if best else _mismatch(given, declared, names))


def costs_of(given: Signature, wanted: Signature) -> list[int | None]:
    """Return what it costs to convert each argument: 0 for none, None where it cannot be done."""
    if len(given.arguments) != len(wanted.arguments):
        return [None]
    return [cost(one, other) for one, other in zip(given.arguments, wanted.arguments, strict=True)]


def cost(given: ArgType, wanted: ArgType) -> int | None:
    """Return 0 if the types are equal, more for a conversion, None if there is none."""
    if given == wanted:
        return 0
    if isinstance(given, ScalarType) and isinstance(wanted, ScalarType):
        return _scalar_cost(given, wanted)
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return _array_cost(given, wanted)
    if isinstance(given, ScalarType) and isinstance(wanted, PointerType):
        return 8 if given.dtype in ("int64", "uint64") else None  # an address
    return None


def converter(given: ArgType, wanted: ArgType) -> Converter | None:
    """Return what makes parameters of the wanted type of a given type's; None if they are the same."""
    if given == wanted or not isinstance(wanted, ScalarType):
        return None
    kind = np.dtype(wanted.dtype).kind
    if kind in "iu":
        return _to_integer(wanted.dtype)
    if kind == "f":
        return _to_float(wanted.dtype)
    if kind == "c":
        to_part = _to_float("float32" if wanted.dtype == "complex64" else "float64")
        return lambda parts: (*to_part(parts[:1]), *to_part(parts[1:2] or (0.0,)))
    return None


def _scalar_cost(given: ScalarType, wanted: ScalarType) -> int | None:
    one, other = np.dtype(given.dtype), np.dtype(wanted.dtype)
    if _KINDS.find(one.kind) > _KINDS.find(other.kind) and not (one.kind == "u" and other.kind == "i"):
        return None
    widening = 1 if np.can_cast(one, other) else 3
    return widening + (one.kind != other.kind) * 4 + abs(one.itemsize - other.itemsize)


def _array_cost(given: ArrayType, wanted: ArrayType) -> int | None:
    same = given.dtype == wanted.dtype
    layout = given.layout == wanted.layout or wanted.layout == "A" or given.ndim == 0
    if given.ndim != wanted.ndim or not layout or not (same or _differ_in_sign(given.dtype, wanted.dtype)):
        return None
    if (given.readonly and not wanted.readonly) or (wanted.aligned and not given.aligned):
        return None
    return 1 if same else _REINTERPRETED


def _differ_in_sign(one: ItemType, other: ItemType) -> bool:
    """Return whether two item types are integers of one width: the same bits, read with a sign or without."""
    names = {one, other}
    return any(names == {f"int{bits}", f"uint{bits}"} for bits in (8, 16, 32, 64))


def _to_integer(name: str) -> Converter:
    """Return what makes an integer of any number with as many bits: 2**32 - 1 is -1 in an int32, as it is in C."""
    bits = 8 * np.dtype(name).itemsize
    low, high, first = -(2 ** (bits - 1)), 2**bits - 1, int(np.iinfo(name).min)

    def convert(parts: Sequence[Any]) -> Sequence[Any]:
        value = int(parts[0])
        if not low <= value <= high:
            raise ArgumentError(f"{value} does not fit into the {bits} bits of {name}, from {low} to {high}")
        return ((value - first) % 2**bits + first,)

    return convert


def _to_float(name: str) -> Converter:
    code = {"float16": "e", "float32": "f", "float64": "d"}[name]

    def convert(parts: Sequence[Any]) -> Sequence[Any]:
        value = float(parts[0])
        try:
            struct.pack(code, value)
        except OverflowError:  # rounding takes it to infinity, as it does in C
            value = float("inf") if value > 0 else float("-inf")
        return (value,)

    return convert


def _ambiguity(function: object, given: Signature, best: Sequence[Signature]) -> str:
    """Return, in numba's words and types, which signatures nothing chooses between."""
    from gridjit.compiler.frontend.numba_types import numba_arguments

    fitting = "\n".join(f"{numba_arguments(wanted)} -> none" for wanted in best)
    return (
        f"Ambiguous overloading for {function} {numba_arguments(given)}:\n{fitting}\n"
        "These declared signatures fit equally well; declare the types that are given, or convert an argument"
    )


def _mismatch(given: Signature, declared: Sequence[Signature], names: Sequence[str]) -> str:
    accepted = f"the kernel was declared for {'; '.join(map(str, declared))}"
    nearest = min(declared, key=lambda wanted: sum(c is None for c in costs_of(given, wanted)))
    for name, one, other in zip(names, given.arguments, nearest.arguments, strict=False):
        if cost(one, other) is None:
            return f"No matching definition: argument '{name}' is {one}, which is not taken for {other}; {accepted}"
    return f"No matching definition: arguments {given} are not taken; {accepted}"
