"""CuPy's arrays as arguments. Machine code reads their fields, which are found in known arrays.

CuPy works in its current stream. Launches in that stream need not wait for it; for other launches the array interface's
protocol applies, and Python launches.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import struct
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import ArgumentHandler, Parameters, Place, check_device, register_finder
from gridjit.runtime.args.interfaces import refuse_on_host
from gridjit.runtime.memory.dlpack_structures import pointer_in
from gridjit.runtime.memory.foreign_array import ForeignArray
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native import foreign_arrays
from gridjit.runtime.native.foreign_arrays import CupyFields
from gridjit.runtime.native.layout.probes import object_layout, offsets_of, only, peek, word, word_at
from gridjit.runtime.native.operation import Operation

# CuPy's C function that returns its current stream's handle, by the types Cython writes beside it.
_STREAM_FUNCTION = "get_current_stream_ptr"
_STREAM_TYPES = (b"intptr_t (void)", b"intptr_t (int __pyx_skip_dispatch)")


class CupyArray:
    """A cupy.ndarray. fields: None if machine code cannot read it. stream: the address of CuPy's stream function."""

    def __init__(self, fields: CupyFields | None, stream: int) -> None:
        self.fields = fields
        self.stream = stream

    def kind(self, value: Any) -> Hashable:
        return (CupyArray, value.data.device_id, foreign_array_of(value).kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        refuse_on_host(value, place)
        check_device("a CuPy array", value.data.device_id, place)
        return foreign_array_of(value).type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        if (stream := _stream_to_wait_for(value)) is not None:
            transfer.wait_for(stream)
        return foreign_array_of(value).parameters

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        fields, array = self.fields, foreign_array_of(value)
        if fields is None or not isinstance(declared, ArrayType) or not array.type.aligned:
            return None
        waits = _stream_to_wait_for(value) is not None
        if waits and not self.stream:
            return None
        return foreign_arrays.CupyByFields(
            python_type=type(value),
            size=struct.calcsize("@" + declared.codes),
            follow=self.stream if waits else 0,
            fields=fields,
            dtype=value.dtype,
            ndim=value.ndim,
            itemsize=value.itemsize,
            contiguous=_contiguous(value),
            device=value.data.device_id,
            item_alignment=value.dtype.alignment,
        )


def foreign_array_of(value: Any) -> ForeignArray:
    """Return CuPy's array as foreign."""
    return ForeignArray(address=value.data.ptr, shape=value.shape, strides=value.strides, dtype=value.dtype)


def _contiguous(value: Any) -> tuple[bool, bool]:
    flags = value.flags
    return bool(flags.c_contiguous), bool(flags.f_contiguous)


def _stream_to_wait_for(value: Any) -> int | None:
    stream: int | None = value.__cuda_array_interface__.get("stream")
    return stream


def find_fields(samples: Sequence[Any], sizes: tuple[int, int]) -> CupyFields | None:
    """Return the offsets of arrays' parts, if every sample has each part in one and the same place; else None.

    sizes: of an array object and of its memory's, in bytes.
    """
    if object_layout() is None:
        return None
    size, memory_size = sizes
    numbers = [array for array in samples if array.ndim]
    try:
        found = CupyFields(
            memory=only(_words(samples, size, [word(id(a.data)) for a in samples])),
            dtype=only(_words(samples, size, [word(id(a.dtype)) for a in samples])),
            contiguous=only(_words(samples, size, [struct.pack("ii", *_contiguous(a)) for a in samples])),
            shape=only(_vectors(numbers, size, [a.shape for a in numbers])),
            strides=only(_vectors(numbers, size, [a.strides for a in numbers])),
            address=only(_words([a.data for a in samples], memory_size, [word(a.data.ptr) for a in samples])),
            device=only(
                _words([a.data for a in samples], memory_size, [struct.pack("i", a.data.device_id) for a in samples], 4)
            ),
        )
    except LookupError:
        return None
    return found if all(_reads(found, sample) for sample in samples) else None


def _words(objects: Sequence[Any], size: int, contents: Sequence[bytes], step: int = 8) -> list[int]:
    found = offsets_of(size, list(zip(objects, contents, strict=True)))
    return [at for at in found if at >= object.__basicsize__ and at % step == 0]


def _vectors(objects: Sequence[Any], size: int, contents: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the offsets of pointers to the begin and then the end of contents."""
    pairs = list(zip(objects, contents, strict=True))
    return [
        at
        for at in range(object.__basicsize__, size - 15, 8)
        if all(_vector(id(value) + at, len(content)) == content for value, content in pairs)
    ]


def _vector(address: int, count: int) -> tuple[int, ...] | None:
    begin, end = word_at(address), word_at(address + 8)
    if end - begin != 8 * count:
        return None
    if not count:
        return ()
    content = peek(begin, 8 * count)
    return struct.unpack(f"{count}q", content) if content is not None and len(content) == 8 * count else None


def _reads(fields: CupyFields, value: Any) -> bool:
    """Return whether an array's parts, read from memory, equal its attributes."""
    at, memory = id(value), word_at(id(value) + fields.memory)
    read = (
        _vector(at + fields.shape, value.ndim),
        _vector(at + fields.strides, value.ndim),
        word_at(at + fields.dtype),
        word_at(at + fields.contiguous),
        word_at(memory + fields.address),
        ctypes.c_int32.from_address(memory + fields.device).value,
    )
    contiguous = struct.unpack("Q", struct.pack("ii", *_contiguous(value)))[0]
    data = value.data
    return read == (value.shape, value.strides, id(value.dtype), contiguous, data.ptr, data.device_id)


def samples_of(cupy: Any) -> Iterator[Any]:
    """Yield arrays of all layouts, item types and devices, over addresses that are never read."""
    dtypes = (np.float32, np.int8, np.complex128, np.float64, np.int16, np.bool_, np.float16, np.uint64)
    shapes = ((3, 5), (7,), (2, 9, 4), (6, 4), (), (0, 3), (5, 1), (11, 13))
    for number, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True)):
        memory = cupy.cuda.UnownedMemory(0x5A0_0000_0000 + 0x11_0000 * number, 1 << 16, None, 3 + 2 * number)
        array = cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 256 * number))
        yield array
        yield array.T
        if array.ndim > 1:
            yield array[:, ::2]
            yield array[1:, 1:].T


@functools.cache
def _handler() -> CupyArray:
    try:
        cupy = importlib.import_module("cupy")
        samples = list(samples_of(cupy))
        sizes = (cupy.ndarray.__basicsize__, type(samples[0].data).__basicsize__)
        fields = find_fields(samples, sizes)
    except Exception as error:  # another CuPy, of another layout: Python reads its arrays
        let_through(error)
        fields = None
    return CupyArray(fields, stream_function())


def stream_function() -> int:
    """Return the address of CuPy's function that returns its current stream; 0 if CuPy lacks it."""
    try:
        capsule = importlib.import_module("cupy_backends.cuda.stream").__pyx_capi__[_STREAM_FUNCTION]
    except (ImportError, AttributeError, KeyError):
        return 0
    return next((found for types in _STREAM_TYPES if (found := pointer_in(id(capsule), types))), 0)


def _find(python_type: type) -> ArgumentHandler | None:
    cupy = any(base.__module__ == "cupy" and base.__name__ == "ndarray" for base in python_type.__mro__)
    return _handler() if cupy else None


register_finder(0, _find)
