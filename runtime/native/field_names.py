"""FieldNames: the addresses of a record dtype's names of fields, with the values there while it is unchanged."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.item_types import parts_of
from gridjit.runtime.native.layout.probes import offsets_of, only, word


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
