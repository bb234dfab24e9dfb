"""Item types: NumPy's dtypes as the types of array items (numbers, dates, records), and back."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.signature import BFLOAT16, SCALAR_CODES, SMALL_FLOATS, Field, ItemType, RecordType

__all__ = [
    "TOO_SMALL",
    "ItemType",
    "bfloat16",
    "copy_of",
    "dtype_of",
    "identity",
    "is_added",
    "item_type",
    "parts_of",
    "small_float",
]

# NumPy's kinds of floats, some of which are wider than kernels have them, with the widest that kernels have.
_WIDE = {"f": "float64", "c": "complex128"}
TOO_SMALL = f"of floats of fewer than 16 bits, kernels support {', '.join(SMALL_FLOATS)}; view others as integers"


def item_type(dtype: np.dtype[Any]) -> ItemType:
    """Return the type of dtype's items in kernels; raises ArgumentError for a dtype that kernels cannot use."""
    return _item_type(*identity(dtype))


def identity(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], Hashable]:
    """Return a key that distinguishes dtype from every other, and from itself before its fields were renamed.

    NumPy calls records equal that differ in alignment. A program may assign to `names` of a dtype that is in use.
    """
    return dtype, None if dtype.names is None else _fields(dtype)


def copy_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype like dtype whose fields, and theirs, are not renamed with dtype's."""
    if dtype.names is None:
        return dtype
    made: np.dtype[Any] = dtype.newbyteorder("|")  # in no other order; np.dtype(dtype, copy=True) makes no copy
    return made


def _fields(dtype: np.dtype[Any]) -> Hashable:
    return (dtype.isalignedstruct, dtype.names, *map(_fields, parts_of(dtype)))


def parts_of(dtype: np.dtype[Any]) -> list[np.dtype[Any]]:
    """Return the item types of a record's fields; of an array of items, theirs."""
    fields: Mapping[str, Any] = dtype.fields or {}
    return [fields[name][0].base for name in dtype.names or ()]


@functools.lru_cache(maxsize=1024)
def _item_type(dtype: np.dtype[Any], _: Hashable) -> ItemType:
    if dtype.names is not None:
        return _record(dtype)
    name: str = dtype.name
    if dtype.kind in "mM" and name.endswith("64"):
        raise ArgumentError(f"items of {name} without a unit cannot be passed to a kernel; give them one")
    if dtype.kind not in "mMSU" and name not in SCALAR_CODES and not is_added(dtype.type):
        if dtype.type.__module__ == "ml_dtypes" and "int" in name:
            raise ArgumentError(f"items of {dtype} cannot be passed to a kernel; convert them with astype('int8')")
        if dtype.type.__module__ == "ml_dtypes":
            raise ArgumentError(f"items of {dtype} cannot be passed to a kernel; {TOO_SMALL}")
        if dtype.kind in _WIDE:
            raise ArgumentError(
                f"items of {dtype} have no type on a GPU; convert them with astype('{_WIDE[dtype.kind]}')"
            )
        raise ArgumentError(
            f"items of {dtype} cannot be passed to a kernel; pass numbers, strings, datetime64, timedelta64 or records"
        )
    if not dtype.isnative:
        raise ArgumentError(f"items of {dtype} have a foreign byte order; convert them with astype('{name}')")
    return dtype.str if dtype.kind in "SU" else name


def is_added(number: type) -> bool:
    """Return whether ml_dtypes adds a class of numbers to NumPy that kernels support."""
    name = number.__name__
    return (name == BFLOAT16 or name in SMALL_FLOATS) and number.__module__ == "ml_dtypes"


def dtype_of(item: ItemType) -> np.dtype[Any]:
    """Return NumPy's dtype for an item type; raises ArgumentError if it has none."""
    if isinstance(item, str):
        if item in SMALL_FLOATS:
            return small_float(item)
        return bfloat16() if item == BFLOAT16 else np.dtype(item)
    if not isinstance(item, RecordType):
        raise ArgumentError(f"NumPy does not have a dtype for items of {item}")
    return np.dtype(
        {
            "names": [field.name for field in item.fields],
            "formats": [
                (dtype_of(field.type), field.shape) if field.shape else dtype_of(field.type) for field in item.fields
            ],
            "offsets": [field.offset for field in item.fields],
            "itemsize": item.size,
        },
        align=item.aligned,
    )


def bfloat16() -> np.dtype[Any]:
    """Return the dtype of bfloat16, which ml_dtypes adds to NumPy; raises ArgumentError where it is missing."""
    return _added("bfloat16", "")


def small_float(name: str) -> np.dtype[Any]:
    """Return the dtype of a float of one byte, by ml_dtypes' name; raises ArgumentError where that is missing."""
    return _added(name, f"; {TOO_SMALL}")


def _added(name: str, more: str) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError) as error:
        raise ArgumentError(f"items of {name} need the package ml_dtypes, which is not installed{more}") from error
    return found


def _record(dtype: np.dtype[Any]) -> RecordType:
    fields: Mapping[str, Any] = dtype.fields or {}
    return RecordType(
        fields=tuple(_field(name, fields[name][0], fields[name][1]) for name in dtype.names or ()),
        size=dtype.itemsize,
        aligned=bool(dtype.isalignedstruct),
    )


def _field(name: str, dtype: np.dtype[Any], offset: int) -> Field:
    base, shape = dtype.subdtype or (dtype, ())
    return Field(name=name, type=item_type(base), shape=tuple(shape), offset=offset)
