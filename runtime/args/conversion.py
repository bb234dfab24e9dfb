"""Declared signatures: the one that a call uses, by numba-cuda's rules, and its arguments' conversions."""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import ItemType
from gridjit.compiler.values.signature import (
    SCALAR_CODES,
    ArgType,
    ArrayType,
    EnumType,
    ForeignType,
    PointerType,
    RecordType,
    ScalarType,
    Signature,
    TupleType,
)

Converter = Callable[[Sequence[Any]], Sequence[Any]]


class Conversion(enum.IntEnum):
    """How an argument is converted, the best way first; all but the last two are numba's.

    PROMOTE: more bits of the same kind. SAFE: another kind that holds all its values. UNSAFE: values may change or not
    fit. REINTERPRET: the items of an array are read with the other sign. LOW_BITS: by the low bits of each.
    """

    EXACT = 0
    PROMOTE = 1
    SAFE = 2
    UNSAFE = 3
    REINTERPRET = 4
    LOW_BITS = 5


# How many arguments need each conversion, the worst first: the nearest signature has the least rank.
Rank: TypeAlias = tuple[int, ...]
_LETTERS = {"=": Conversion.EXACT, "p": Conversion.PROMOTE, "s": Conversion.SAFE, "u": Conversion.UNSAFE}
# From a type (a row) to each type in SCALAR_CODES' order; "-" is none. numba's rules, as a test checks.
_NUMBERS = {
    "bool": "=sssssssssssss",
    "int8": "u=pppuuuusssss",
    "int16": "uu=ppuuuuussss",
    "int32": "uuu=puuuuuusus",
    "int64": "uuuu=uuuuuusus",
    "uint8": "uusss=pppussss",
    "uint16": "uuussu=ppuusus",
    "uint32": "uuuusuu=puusus",
    "uint64": "uuuuuuuu=uusus",
    "float16": "uuuuuuuuu=ppss",
    "float32": "uuuuuuuuuu=pss",
    "float64": "uuuuuuuuuuu=us",
    "complex64": "------------=p",
    "complex128": "------------u=",
}
_COLUMNS = {name: index for index, name in enumerate(SCALAR_CODES)}


def resolve(
    given: Signature, declared: Sequence[Signature], names: Sequence[str], function: object = "the kernel"
) -> Signature:
    """Return the declared signature for a call of the given types: the signature with the best conversions.

    Raises ArgumentError naming the argument that fits none and the accepted types, or the signatures that fit equally.
    """
    if given in declared:
        return given
    ranked = {wanted: rank for wanted in declared if (rank := rank_of(given, wanted)) is not None}
    nearest = min(ranked.values(), default=())
    best = [wanted for wanted, rank in ranked.items() if rank == nearest]
    if len(best) == 1:
        return best[0]
    raise ArgumentError(_ambiguity(function, given, best) if best else _mismatch(given, declared, names))


def rank_of(given: Signature, wanted: Signature) -> Rank | None:
    """Return the distance of a signature from the given types, smaller for closer; None if it cannot take them."""
    if len(given.arguments) != len(wanted.arguments):
        return None
    found = [conversion(one, other) for one, other in zip(given.arguments, wanted.arguments, strict=True)]
    return None if None in found else tuple(found.count(kind) for kind in reversed(Conversion))


def conversion(given: ArgType, wanted: ArgType) -> Conversion | None:
    """Return the conversion of an argument of one type to another, None without any."""
    if given == wanted:
        return Conversion.EXACT
    match given, wanted:
        case ScalarType(), ScalarType():
            return _number_conversion(given.dtype, wanted.dtype)
        case ArrayType(), ArrayType():
            return _array_conversion(given, wanted)
        case TupleType(), TupleType():
            return _tuple_conversion(given, wanted)
        case RecordType(), RecordType():
            return _record_conversion(given, wanted)
        case EnumType(), EnumType() if given.enum == wanted.enum:
            return conversion(given.dtype, wanted.dtype)
        case EnumType(integral=True), ScalarType() | PointerType():
            found = conversion(given.dtype, wanted)
            return None if found is None else max(found, Conversion.SAFE)
        case ScalarType(), PointerType():  # an address
            return Conversion.UNSAFE if given.dtype.startswith(("int", "uint")) else None
        case PointerType(), PointerType():
            return Conversion.UNSAFE if "void" in (given.dtype, wanted.dtype) else None
    return None


def converter(given: ArgType, wanted: ArgType) -> Converter | None:
    """Return the converter of a given type's parameters to a wanted type's; None if they are the same."""
    if given == wanted:
        return None
    if isinstance(given, EnumType):
        return converter(given.dtype, wanted)
    match wanted:
        case EnumType():
            return converter(given, wanted.dtype)
        case ScalarType():
            return _to_number(wanted.dtype)
        case TupleType() if isinstance(given, TupleType):
            return _to_items(given, wanted)
    return None


def codes_of(given: ArgType, wanted: ArgType) -> str:
    """Return the struct codes of parameters for a wanted type: its own, unless only the value's type knows them.

    An extension decides how the value of its type is passed.
    """
    if isinstance(given, TupleType) and isinstance(wanted, TupleType):
        return "".join(codes_of(*pair) for pair in zip(given.items, wanted.items, strict=True))
    return given.codes if isinstance(given, ForeignType) else wanted.codes


def _number_conversion(given: str, wanted: str) -> Conversion | None:
    """Return the conversion between two numbers; dates convert to nothing else, and are counts of their unit."""
    if given == "int64" and wanted not in _COLUMNS:
        return Conversion.UNSAFE
    row, column = _NUMBERS.get(given), _COLUMNS.get(wanted)
    return None if row is None or column is None else _LETTERS.get(row[column])


def _array_conversion(given: ArrayType, wanted: ArrayType) -> Conversion | None:
    same = given.dtype == wanted.dtype
    # In C's order and in Fortran's, the items of one axis follow each other alike.
    layout = wanted.layout in ("A", given.layout) or given.ndim == 0 or (given.ndim == 1 and given.layout != "A")
    if given.ndim != wanted.ndim or not layout or not (same or _reads_as(given.dtype, wanted)):
        return None
    if (given.readonly and not wanted.readonly) or (wanted.aligned and not given.aligned):
        return None
    if same:
        return Conversion.SAFE
    return Conversion.REINTERPRET if _bits(given.dtype) == _bits(wanted.dtype) else Conversion.LOW_BITS


def _tuple_conversion(given: TupleType, wanted: TupleType) -> Conversion | None:
    """Return the worst conversion of the items; a tuple without names may become a tuple with names, and back."""
    if len(given.items) != len(wanted.items) or (given.named and wanted.named and given.named != wanted.named):
        return None
    found = [conversion(one, other) for one, other in zip(given.items, wanted.items, strict=True)]
    known = [one for one in found if one is not None]
    return max(Conversion.SAFE if given.named != wanted.named else min(known), *known) if known == found else None


def _record_conversion(given: RecordType, wanted: RecordType) -> Conversion | None:
    """Return the conversion of a record to its first fields."""
    begins = given.fields[: len(wanted.fields)] == wanted.fields and given.size >= wanted.size
    return Conversion.SAFE if begins and (given.aligned or not wanted.aligned) else None


def _reads_as(item: ItemType, wanted: ArrayType) -> bool:
    """Return whether integers of an array can be read as another type: the same bits, or the low bits of each.

    The low bits are where the item begins, and kernels find wider items only by the strides that layout A has. Only
    integers of the same kind, signed or not, are narrowed.
    """
    given, read = _bits(item), _bits(wanted.dtype)
    if not given or not read:
        return False
    narrows = given > read and str(item)[0] == str(wanted.dtype)[0] and (wanted.layout == "A" or wanted.ndim == 0)
    return given == read or narrows


def _bits(item: ItemType) -> int:
    """Return how many bits an integer type has, 0 for any other type."""
    return 8 * struct.calcsize(SCALAR_CODES[str(item)]) if str(item).lstrip("u").startswith("int") else 0


def _to_number(name: str) -> Converter | None:
    if name == "bool":
        return lambda parts: (bool(parts[0]),)
    if name.startswith(("int", "uint")):
        return _to_integer(name)
    if name.startswith("float"):
        return _to_float(name)
    if name.startswith("complex"):
        to_part = _to_float("float32" if name == "complex64" else "float64")
        return lambda parts: (*to_part(parts[:1]), *to_part(parts[1:2] or (0.0,)))
    return None


def _to_integer(name: str) -> Converter:
    """Return the converter of any number to an integer of as many bits: 2**32 - 1 is -1 in an int32, as in C."""
    bits = 8 * struct.calcsize(SCALAR_CODES[name])
    low, high, first = -(2 ** (bits - 1)), 2**bits - 1, 0 if name.startswith("u") else -(2 ** (bits - 1))

    def convert(parts: Sequence[Any]) -> Sequence[Any]:
        if isinstance(parts[0], float) and not parts[0].is_integer():
            raise ArgumentError(f"{parts[0]} is not a whole number, which {name} takes; round it")
        value = int(parts[0])
        if not low <= value <= high:
            raise ArgumentError(f"{value} does not fit into the {bits} bits of {name}, from {low} to {high}")
        return ((value - first) % 2**bits + first,)

    return convert


def _to_float(name: str) -> Converter:
    code = SCALAR_CODES[name]

    def convert(parts: Sequence[Any]) -> Sequence[Any]:
        value = float(parts[0])
        try:
            struct.pack(code, value)
        except OverflowError:  # rounding takes it to infinity, as in C
            value = float("inf") if value > 0 else float("-inf")
        return (value,)

    return convert


def _to_items(given: TupleType, wanted: TupleType) -> Converter:
    """Return the converter of each item of a tuple, whose parameters follow each other."""
    items: list[tuple[slice, Converter | None]] = []
    start = 0
    for one, other in zip(given.items, wanted.items, strict=True):
        items.append((slice(start, start + len(one.codes)), converter(one, other)))
        start += len(one.codes)

    def convert(parts: Sequence[Any]) -> Sequence[Any]:
        own = [(parts[place], change) for place, change in items]
        return [part for these, change in own for part in (these if change is None else change(these))]

    return convert


def _ambiguity(function: object, given: Signature, best: Sequence[Signature]) -> str:
    """Return the error, in numba's words and types, for signatures that fit equally."""
    from gridjit.compiler.frontend.bindings.types import numba_arguments

    fitting = "\n".join(f"{numba_arguments(wanted)} -> none" for wanted in best)
    return (
        f"Ambiguous overloading for {function} {numba_arguments(given)}:\n{fitting}\n"
        "These declared signatures fit equally well; declare the types that are given, or convert an argument"
    )


def _mismatch(given: Signature, declared: Sequence[Signature], names: Sequence[str]) -> str:
    accepted = f"the kernel was declared for {'; '.join(map(str, declared))}"
    nearest = min(declared, key=lambda wanted: len(_misfits(given, wanted)))
    for name, one, other in zip(names, given.arguments, nearest.arguments, strict=False):
        if conversion(one, other) is None:
            refused = f"No matching definition: argument '{name}' is {one}, which is not accepted for {other}"
            return f"{refused}; {accepted}{_way_on(name, one, other)}"
    return f"No matching definition: arguments {given} are not accepted; {accepted}"


def _way_on(name: str, given: ArgType, wanted: ArgType) -> str:
    """Return words for an array that a declared type would take, and for a type that would take the array."""
    if not (isinstance(given, ArrayType) and isinstance(wanted, ArrayType) and isinstance(given.dtype, str)):
        return ""
    if given.readonly and not wanted.readonly:
        return f"; pass {name}.copy(), which can be written"
    declared = f"or declare {given.dtype}[{', '.join(':' * given.ndim)}] as well"
    if given.ndim != wanted.ndim:
        return f"; reshape it to {wanted.ndim} dimension{'s' * (wanted.ndim != 1)}, {declared}"
    if given.dtype != wanted.dtype:
        return f"; pass {name}.astype('{wanted.dtype}'), {declared}"
    function = "asfortranarray" if wanted.layout == "F" else "ascontiguousarray"
    return f"; pass numpy.{function}({name}), {declared}"


def _misfits(given: Signature, wanted: Signature) -> list[str]:
    """Return the arguments without a conversion."""
    pairs = zip(given.arguments, wanted.arguments, strict=False)
    return [str(one) for one, other in pairs if conversion(one, other) is None]
