"""Tensors by DLPack's exchange function, without the library: a type whose function describes a NumPy array."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.signature import ArrayType
from gridjit.runtime.args.handler import Place
from gridjit.runtime.args.tensors import ExchangedTensor
from gridjit.runtime.memory.dlpack_structures import Tensor
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.function import NativeFunction
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import Recorder, told_to_read

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
HOST = Place()
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Exchanged:
    """A tensor over a NumPy array. given: whether it tells its strides, or leaves them out as a dense one may."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0), given: bool = True) -> None:
        self.array, self.device, self.given = array, device, given
        steps = [stride // array.itemsize for stride in array.strides]
        self.dimensions = (ctypes.c_int64 * max(1, 2 * array.ndim))(*array.shape, *steps)


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def export(value: Exchanged, out: int) -> int:
    tensor, array, start = Tensor.from_address(out), value.array, ctypes.addressof(value.dimensions)
    words = ctypes.POINTER(ctypes.c_int64)
    tensor.data, tensor.byte_offset = array.__array_interface__["data"][0] - 8, 8
    tensor.device_type, tensor.device_id = value.device
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = array.ndim, CODES[array.dtype.kind], 8 * array.itemsize, 1
    tensor.shape = ctypes.cast(start, words)
    tensor.strides = ctypes.cast(start + 8 * array.ndim, words) if value.given else words()
    return 0


ADDRESS = ctypes.cast(export, ctypes.c_void_p).value or 0


def told_of(
    value: Exchanged, recorder: Recorder, surprised: list[Any], declared: ArrayType | None = None
) -> NativeFunction:
    handler = ExchangedTensor(Exchanged, ADDRESS)
    operation = handler.operation(value, HOST, declared or handler.type_of(value, HOST))
    assert operation is not None
    return told_to_read(operation, recorder, surprised)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exchanged(np.ones((4, 6), np.float32)),
        lambda: Exchanged(np.ones((4, 6), np.float32), given=False),
        lambda: Exchanged(np.ones((4, 6), np.int8).T),
        lambda: Exchanged(np.ones((4, 6))[:, ::2]),
        lambda: Exchanged(np.ones(())),
        lambda: Exchanged(np.ones((2, 0, 3), np.uint16)),
        lambda: Exchanged(np.ones((2, 0, 3), np.uint16), given=False),
        lambda: Exchanged(np.ones(5, np.bool_)[1:]),
        lambda: Exchanged(np.broadcast_to(np.ones(1), (4, 5))),
        lambda: Exchanged(np.arange(6.0)[::-1]),
    ],
)
def test_machine_code_and_python_read_the_same(make: Any) -> None:
    recorder, surprised = Recorder(), []
    value = make()
    told_of(value, recorder, surprised).call(value)
    handler = ExchangedTensor(Exchanged, ADDRESS)
    kind = handler.type_of(value, HOST)
    assert not surprised
    assert recorder.last.parameters == struct.pack("@" + kind.codes, *handler.parameters(value, Transfer(None, 0)))


@pytest.mark.parametrize(
    "other",
    [
        lambda: Exchanged(np.ones((3, 4), np.float32).T),
        lambda: Exchanged(np.ones((3, 8), np.float32)[:, ::2]),
        lambda: Exchanged(np.ones(12, np.float32)),
        lambda: Exchanged(np.ones((3, 4), np.int32)),
        lambda: Exchanged(np.ones((3, 4), np.float32), device=(2, 0)),
    ],
)
def test_a_tensor_of_another_kind_goes_to_python(other: Any) -> None:
    recorder, surprised = Recorder(), []
    function = told_of(Exchanged(np.ones((3, 4), np.float32)), recorder, surprised)
    value = other()
    function.call(value)
    assert surprised == [(value,)]
    assert not recorder.launches


def test_a_kernel_declared_for_any_strides_takes_tensors_of_all_layouts_by_machine_code() -> None:
    recorder, surprised = Recorder(), []
    dense = Exchanged(np.ones((3, 4), np.float32))
    function = told_of(dense, recorder, surprised, ArrayType(dtype="float32", ndim=2, layout="A"))
    for value in (dense, Exchanged(np.ones((3, 4), np.float32).T), Exchanged(np.ones((3, 8), np.float32)[:, ::2])):
        function.call(value)
    assert (len(recorder.launches), surprised) == (3, [])
