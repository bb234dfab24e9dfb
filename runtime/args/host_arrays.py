"""NumPy arrays as arguments: used in place on the host; copied to a CUDA device and back, on the launch's stream."""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.item_types import identity, item_type
from gridjit.compiler.values.signature import ArgType, ArrayType, array_struct, layout_letter
from gridjit.runtime.args.handler import Parameters, Place, register
from gridjit.runtime.memory.staging import Array, Transfer, has_aligned_steps, own
from gridjit.runtime.native.layout.probes import object_layout, offsets_of, only, peek, word_at

if TYPE_CHECKING:
    from gridjit.runtime.native.layout.probes import FieldNames
    from gridjit.runtime.native.operation import NumpyArray, NumpyFields, Operation

_C, _F, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400


class HostArray:
    """A NumPy array: a pointer, a shape and strides in bytes, as numba lays out an array."""

    def array(self, value: Any) -> Array:
        """Return value as plain NumPy."""
        return own(value)

    def kind(self, value: Array) -> Hashable:
        value = own(value)
        flags = value.flags.num
        return (*identity(value.dtype), value.ndim, flags, flags & _ALIGNED or has_aligned_steps(value))

    def type_of(self, value: Array, place: Place) -> ArrayType:
        # A copy on a device is aligned.
        value = own(value)
        return array_type(value, aligned=None if place.is_host else has_aligned_steps(value))

    def parameters(self, value: Array, transfer: Transfer) -> Parameters:
        value = own(value)
        if transfer.space is None:
            transfer.use_in_place()
            return array_parameters(value)
        transfer.warn_of_copies(f"a NumPy array of {value.nbytes} bytes")
        return array_parameters(transfer.stage(value))

    def operation(self, value: Array, place: Place, declared: ArgType) -> Operation | None:
        found = array_operation(value, declared)
        return found if found is None or place.is_host else moved(found, reads=True, writes=True)


def array_operation(value: Array, declared: ArgType) -> NumpyArray | None:
    """Return the native function's way to read such arrays as the declared type, or None if only Python can."""
    from gridjit.runtime.native.operation import NumpyArray  # launches from Python do without

    fields = array_fields()
    if fields is None or type(value) is not np.ndarray or not isinstance(declared, ArrayType):
        return None
    names = _names(value.dtype)
    if names is None and value.dtype.names is not None:
        return None
    mask, wanted = _flag_test(declared, value.flags.num)
    return NumpyArray(
        python_type=np.ndarray,
        size=struct.calcsize("@" + declared.codes),
        fields=fields,
        dtype=value.dtype,
        names=names,
        ndim=value.ndim,
        itemsize=value.itemsize,
        mask=mask,
        flags=wanted,
    )


def moved(read: NumpyArray, *, reads: bool, writes: bool) -> NumpyArray | None:
    """Return read for arrays that are copied to a device, and back if they may be written; None if only Python can.

    Machine code copies contiguous arrays, which are aligned there as they are here.
    """
    from gridjit.runtime.native.operation import Moved

    if not read.flags & (_C | _F) or not read.flags & _ALIGNED:
        return None
    how = Moved(reads=reads, writes=writes and bool(read.flags & _WRITEABLE))
    return dataclasses.replace(read, moved=how)


def array_type(array: Array, aligned: bool | None = None) -> ArrayType:
    """Return an array's type; aligned: whether its items are, None if they are as here."""
    flags = array.flags
    return ArrayType(
        dtype=item_type(array.dtype),
        ndim=array.ndim,
        layout=layout_letter(flags.c_contiguous, flags.f_contiguous),
        readonly=not flags.writeable,
        aligned=flags.aligned if aligned is None else aligned,
    )


def array_parameters(array: Array) -> Parameters:
    """Return the launch parameters of an array."""
    return array_struct(array.__array_interface__["data"][0], array.size, array.itemsize, array.shape, array.strides)


def _names(dtype: np.dtype[Any]) -> FieldNames | None:
    """Return a dtype's field names for machine code; None without fields, or if machine code cannot read them."""
    if dtype.names is None:
        return None
    from gridjit.runtime.native.layout.probes import field_names  # few arrays have fields

    return field_names(dtype)


def _flag_test(declared: ArrayType, flags: int) -> tuple[int, int]:
    """Return the flags that machine code checks for an array to be of a type, and their values."""
    mask = _ALIGNED | _WRITEABLE | {"C": _C, "F": _C | _F, "A": _C | _F}[declared.layout]
    return mask, flags & mask


@functools.cache
def array_fields() -> NumpyFields | None:
    """Return the offsets of an array's parts in NumPy's object, found in some arrays; None if they are not clear."""
    from gridjit.runtime.native.operation import NumpyFields

    if object_layout() is None:
        return None
    samples: list[Any] = [
        np.zeros((3, 5, 7), np.float32)[:, ::2],
        np.zeros((2, 9), np.int16).T,
        np.zeros(11, np.float64),
    ]
    size = np.ndarray.__basicsize__

    def words(values: list[bytes]) -> list[int]:
        found = offsets_of(size, list(zip(samples, values, strict=True)))
        return [at for at in found if at >= object.__basicsize__]

    try:
        data = only(words([struct.pack("q", a.__array_interface__["data"][0]) for a in samples]))
        ndim = only(words([struct.pack("i", a.ndim) for a in samples]))
        dtype = only(words([struct.pack("q", id(a.dtype)) for a in samples]))
        flags = only(words([struct.pack("i", a.flags.num) for a in samples]))
        shape = only(_pointers(samples, size, [a.shape for a in samples]))
        strides = only(_pointers(samples, size, [a.strides for a in samples]))
    except LookupError:
        return None
    return NumpyFields(data=data, ndim=ndim, shape=shape, strides=strides, dtype=dtype, flags=flags)


def _pointers(samples: list[Any], size: int, contents: list[tuple[int, ...]]) -> list[int]:
    """Return the offsets of words in samples that point to contents."""
    wanted = [struct.pack(f"{len(content)}q", *content) for content in contents]
    return [
        at
        for at in range(object.__basicsize__, size - 7, 8)
        if all(peek(word_at(id(s) + at), len(w)) == w for s, w in zip(samples, wanted, strict=True))
    ]


register(np.ndarray, HostArray())
