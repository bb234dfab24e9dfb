"""Probes: offsets of parts of CPython's and NumPy's objects that the native function reads; None where unexpected."""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.item_types import parts_of

_WORD = 8
_NEWEST = (3, 14)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLayout:
    """Offsets in bytes.

    references, type: of an object's count of references (32 bits) and its type. counts_none: whether None has one.
    bytes_data, bytes_size: of a bytes object's content and length. float_value, complex_value: of the C doubles in a
    float and a complex. tuple_items, tuple_size: of a tuple's items and how many they are. int_digit: of the 32 bits
    of an int that needs no more. int_size: of the word that tells such ints, which hold int_single there, from zero,
    negative and longer ones.
    """

    references: int
    counts_none: bool
    type: int
    bytes_data: int
    bytes_size: int
    float_value: int
    complex_value: int
    tuple_items: int
    tuple_size: int
    int_digit: int
    int_size: int
    int_single: int

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers by the names that they have in C."""
        return {name.upper(): int(getattr(self, name)) for name in self.__slots__}


@functools.cache
def object_layout() -> ObjectLayout | None:
    """Return this interpreter's layout, or None if native launches were not made for it."""
    if not known_interpreter():
        return None
    try:
        return ObjectLayout(
            references=only(_references(object())),
            counts_none=sys.version_info < (3, 12),
            type=only(
                offsets_of(object.__basicsize__, [(x, word(id(type(x)))) for x in (1.5, b"x", (1,), _Slotted())])
            ),
            bytes_data=only(offsets_of(bytes.__basicsize__ + 8, [(x, x) for x in (b"gridjit1", b"8 octets")])),
            bytes_size=only(offsets_of(bytes.__basicsize__ - 1, [(b"x" * n, word(n)) for n in (977, 1234)])),
            float_value=only(offsets_of(float.__basicsize__, [(x, struct.pack("d", x)) for x in (1.2345, -9.75e88)])),
            complex_value=only(
                offsets_of(
                    complex.__basicsize__, [(x, struct.pack("dd", x.real, x.imag)) for x in (3 - 7.5j, 1e9 + 1j)]
                )
            ),
            tuple_items=only(
                offsets_of(
                    tuple.__basicsize__ + 8, [(x, word(id(x[0]))) for x in ((len,), (object_layout,), ("a", "b"))]
                )
            ),
            tuple_size=only(offsets_of(tuple.__basicsize__, [((None,) * n, word(n)) for n in (977, 1234)])),
            int_digit=only(
                offsets_of(int.__basicsize__ + 4, [(x, x.to_bytes(4, "little")) for x in (123456789, 987654321)])
            ),
            int_size=object.__basicsize__,
            int_single=_single(object.__basicsize__),
        )
    except LookupError:
        return None


def _references(value: object) -> list[int]:
    """Return every offset at which a count in value grows with the references to it."""
    counters = [ctypes.c_uint32.from_address(id(value) + at) for at in range(object.__basicsize__ - 3)]
    before = [counter.value for counter in counters]
    held = [value] * 977
    return [at for at, counter in enumerate(counters) if counter.value - before[at] == len(held)]


def _single(place: int) -> int:
    """Return the word at a place in ints of one digit that no other int has there."""
    singles, others = ({word_at(id(x) + place) for x in ints} for ints in (_SINGLE, _OTHER))
    if len(singles) != 1 or singles & others:
        raise LookupError("ints cannot be told apart by their size")
    return singles.pop()


# Not numbers of which CPython keeps one object, which it may mark.
_SINGLE = (977, 123456789, (1 << 30) - 1)
_OTHER = (0, -977, 1 << 30, -(1 << 30), 1 << 60, 1 << 90)


class _Slotted:
    __slots__ = ("a", "b")


def known_interpreter() -> bool:
    """Return whether this is an interpreter, and a machine, that native functions were made for."""
    return (
        sys.implementation.name == "cpython"
        and (3, 10) <= sys.version_info[:2] <= _NEWEST
        and sys.byteorder == "little"
        and struct.calcsize("P") == _WORD
        and "t" not in sys.abiflags  # a build without the global lock counts references otherwise
        and not hasattr(sys, "getobjects")  # a build that traces references has another object head
    )


def offsets_of(size: int, samples: Sequence[tuple[object, bytes]]) -> list[int]:
    """Return every offset below size at which each sample object holds the bytes beside it in memory."""
    images = [(ctypes.string_at(id(value), size), wanted) for value, wanted in samples]
    width = len(samples[0][1])
    return [at for at in range(size - width + 1) if all(image[at : at + width] == wanted for image, wanted in images)]


def slot_offset(python_type: type, name: str) -> int | None:
    """Return where instances of python_type keep their slot `name`, or None if it is not a plain slot of theirs."""
    owner = next((base for base in python_type.__mro__ if name in vars(base)), None)
    if owner is None or object_layout() is None or type(vars(owner)[name]).__name__ != "member_descriptor":
        return None
    return _offset_in(owner, name)


@functools.cache  # each launch in another stream asks
def _offset_in(owner: type, name: str) -> int | None:
    sentinels = (object(), object())
    found = offsets_of(owner.__basicsize__, [(_with_slot(owner, name, s), word(id(s))) for s in sentinels])
    return found[0] if len(found) == 1 else None


def _with_slot(owner: Any, name: str, value: object) -> Any:
    made = object.__new__(owner)
    vars(owner)[name].__set__(made, value)
    return made


def word_at(address: int) -> int:
    """Return the unsigned 64-bit word at an address."""
    return int(ctypes.c_uint64.from_address(address).value)


def peek(address: int, size: int) -> bytes | None:
    """Return size bytes at a number that may not be an address; None if it is not."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)
    except (OSError, ValueError, OverflowError):
        return None


def probe(find: Callable[[], int | None]) -> int | None:
    """Return find's result, or None if this build does not look as expected."""
    try:
        return find()
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def word(value: int) -> bytes:
    """Return the bytes of a 64-bit word."""
    return struct.pack("q", value)


def only(found: list[int]) -> int:
    """Return the offset that was found; raises LookupError unless there is exactly one."""
    if len(found) != 1:
        raise LookupError("not found in exactly one place")
    return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """Pairs of words, as the reader of arrays takes them: an address, and the word that must be there; then a null.

    A program may assign to `names` of a dtype, which then refers to another tuple. keep: them and their tuples.
    """

    pairs: ctypes.Array[ctypes.c_int64]
    keep: tuple[object, ...]

    @property
    def address(self) -> int:
        """The address of the pairs."""
        return ctypes.addressof(self.pairs)


def field_names(dtype: np.dtype[Any]) -> FieldNames | None:
    """Return the field names of dtype, which has fields; None if it is not clear where NumPy keeps them."""
    if (at := _names_at()) is None:
        return None
    records = tuple(_records(dtype))
    names = tuple(record.names for record in records)
    words = [number for record, held in zip(records, names, strict=True) for number in (id(record) + at, id(held))]
    return FieldNames(pairs=(ctypes.c_int64 * (len(words) + 1))(*words, 0), keep=(*records, *names))


def _records(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
    if dtype.names is not None:
        yield dtype
        for part in parts_of(dtype):
            yield from _records(part)


@functools.cache
def _names_at() -> int | None:
    samples = [np.dtype([("x", "i4")]), np.dtype([("a", "f8"), ("b", "u1")])]
    try:
        return only(offsets_of(type(samples[0]).__basicsize__, [(dtype, word(id(dtype.names))) for dtype in samples]))
    except LookupError:
        return None
