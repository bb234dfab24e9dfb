"""CuPy's arrays: their fields are found by looking, in an object laid out like theirs and, where it is, in CuPy's."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.cupy import CupyArray, find_fields
from gridjit.runtime.args.handler import Place
from gridjit.runtime.native.foreign_arrays import CupyFields
from gridjit.runtime.native.function import NativeFunction
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import Recorder, told_to_read

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
CUDA = Place(kind="ptx", ordinal=3)


class Pointer(bytes):
    """Where memory is: its payload holds the address and the device, as C would."""

    @classmethod
    def to(cls, address: int, device: int) -> Pointer:
        return cls(struct.pack("QiiQ", address, device, 77, 0))

    @property
    def ptr(self) -> int:
        return struct.unpack("QiiQ", self)[0]

    @property
    def device_id(self) -> int:
        return struct.unpack("QiiQ", self)[1]


class Array(bytes):
    """An array whose payload is laid out as a C++ object's: two vectors, two truths, two references."""

    ghost: Any
    data: Any
    keep: Any

    @classmethod
    def over(cls, ghost: np.ndarray, address: int = 0x5A00, device: int = 3, word: int = 8) -> Array:
        vectors = [(ctypes.c_int64 * max(1, ghost.ndim))(*numbers) for numbers in (ghost.shape, ghost.strides)]
        pointer = Pointer.to(address, device)
        begins = [ctypes.addressof(vector) for vector in vectors]
        ends = [begin + word * ghost.ndim for begin in begins]
        flags = (ghost.flags.c_contiguous, ghost.flags.f_contiguous, True, False)
        words = (ghost.size, begins[0], ends[0], 0, begins[1], ends[1], 0)
        made = cls(struct.pack("7Q4iQQ", *words, *flags, id(ghost.dtype), id(pointer)))
        made.ghost, made.data, made.keep = ghost, pointer, vectors
        return made

    shape = property(lambda self: self.ghost.shape)
    strides = property(lambda self: self.ghost.strides)
    dtype = property(lambda self: self.ghost.dtype)
    ndim = property(lambda self: self.ghost.ndim)
    itemsize = property(lambda self: self.ghost.itemsize)
    flags = property(lambda self: self.ghost.flags)
    __cuda_array_interface__ = {"stream": None}


SIZES = (bytes.__basicsize__ + 7 * 8 + 16 + 16 - 1, bytes.__basicsize__ + 24 - 1)


def samples(**options: Any) -> list[Array]:
    ghosts: list[np.ndarray[Any, Any]] = [
        np.ones((3, 5), np.float32),
        np.ones((3, 5), np.int8).T,
        np.ones((4, 6), np.float64)[:, ::2],
        np.ones(7, np.int16),
        np.ones((), np.complex128),
        np.ones((2, 9, 4), np.uint32)[1:, ::3],
    ]
    return [Array.over(ghost, 0x5A00 + 0x100 * number, 3 + number, **options) for number, ghost in enumerate(ghosts)]


@pytest.fixture(scope="module")
def fields() -> CupyFields:
    found = find_fields(samples(), SIZES)
    assert found is not None
    return found


def told_of(fields: CupyFields, array: Array, recorder: Recorder, surprised: list[Any]) -> NativeFunction:
    handler = CupyArray(fields, 0)
    operation = handler.operation(array, CUDA, handler.type_of(array, CUDA))
    assert operation is not None
    return told_to_read(operation, recorder, surprised)


def test_fields_are_found_where_they_are(fields: CupyFields) -> None:
    start = bytes.__basicsize__ - 1
    at = (fields.shape, fields.strides, fields.contiguous, fields.dtype, fields.memory)
    assert [place - start for place in at] == [8, 32, 56, 72, 80]
    assert (fields.address - start, fields.device - start) == (0, 8)


def test_fields_that_are_not_there_are_not_found() -> None:
    assert find_fields(samples(word=4), SIZES) is None
    liars = samples()
    liars[3].data = Pointer.to(0x1234, 3)
    assert find_fields(liars, SIZES) is None


@pytest.mark.parametrize("index", range(6))
def test_machine_code_and_python_read_the_same(fields: CupyFields, index: int) -> None:
    recorder, surprised = Recorder(), []
    array = Array.over(samples()[index].ghost)
    told_of(fields, array, recorder, surprised).call(array)
    handler = CupyArray(fields, 0)
    kind = handler.type_of(array, CUDA)
    assert not surprised
    assert recorder.last.parameters == struct.pack("@" + kind.codes, *handler.parameters(array, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        lambda: Array.over(np.ones((3, 4), np.float32).T),
        lambda: Array.over(np.ones((3, 8), np.float32)[:, ::2]),
        lambda: Array.over(np.ones(12, np.float32)),
        lambda: Array.over(np.ones((3, 4), np.int32)),
        lambda: Array.over(np.ones((3, 4), np.float32), device=4),
        lambda: Array.over(np.ones((3, 4), np.float32), address=0x5A02),
    ],
)
def test_an_array_of_another_kind_goes_to_python(fields: CupyFields, other: Any) -> None:
    recorder, surprised = Recorder(), []
    function = told_of(fields, Array.over(np.ones((3, 4), np.float32)), recorder, surprised)
    array = other()
    function.call(array)
    assert surprised == [(array,)]
    assert not recorder.launches


def test_an_array_on_another_device_is_an_error(fields: CupyFields) -> None:
    with pytest.raises(ArgumentError, match="CuPy array on CUDA device 4"):
        CupyArray(fields, 0).type_of(Array.over(np.ones(3), device=4), CUDA)


def test_an_array_in_a_stream_that_nothing_tells_of_is_left_to_python(fields: CupyFields, monkeypatch: Any) -> None:
    monkeypatch.setattr(Array, "__cuda_array_interface__", {"stream": 1})
    array = Array.over(np.ones(3))
    handler = CupyArray(fields, 0)
    assert handler.operation(array, CUDA, handler.type_of(array, CUDA)) is None


def test_the_fields_of_cupys_own_arrays_are_found() -> None:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    from gridjit.runtime.args.handler import handler_of

    memory = cupy.cuda.UnownedMemory(0x5A00, 4096, None, 3)
    handler: Any = handler_of(cupy.ndarray((3, 4), np.float32, cupy.cuda.MemoryPointer(memory, 0)))
    assert type(handler) is CupyArray
    assert handler.fields is not None
    assert handler.stream
