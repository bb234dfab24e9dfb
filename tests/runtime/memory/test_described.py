"""Views of arrays that machine code reads: what it says of an array is what an interface would have said."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import sys
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.args.host_arrays import array_operation, array_type
from gridjit.runtime.arrays import foreign_attributes, foreign_described
from gridjit.runtime.native.function import NativeFunction, native_function
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.table import KernelHandle, LaunchTable
from tests.runtime.memory.test_by_attributes import Tensor, items

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")

_POINTER = ctypes.c_void_p


def exported(tensor: Any, to: int) -> int:
    """Write a DLTensor of the host's, as torch's function does; it keeps what that points to."""
    if tensor.flags:
        raise RuntimeError("no memory")
    array = tensor.items
    shape, strides = (ctypes.c_int64 * array.ndim)(*array.shape), (ctypes.c_int64 * array.ndim)(*tensor.stride())
    tensor.kept = shape, strides
    words = (ctypes.c_int64 * 6).from_address(to)
    code = {"f": 2, "i": 0}[array.dtype.kind] | array.itemsize * 8 << 8 | 1 << 16
    words[:] = [
        array.ctypes.data,
        1,
        array.ndim | code << 32,
        ctypes.addressof(shape),
        ctypes.addressof(strides),
        0,
    ]
    return 0


EXPORT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _POINTER)(exported)


@pytest.fixture(autouse=True)
def taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the stand-in for torch's tensors read by the exchange function, as torch's own are."""
    from gridjit.runtime.args.handler import Place
    from gridjit.runtime.args.tensors import ExchangedTensor
    from gridjit.runtime.native.foreign_arrays import LazyFlags

    handler = ExchangedTensor(Tensor, ctypes.cast(EXPORT, _POINTER).value or 0)
    # Of a word that no such object has set.
    flags = LazyFlags(implementation=object_layout().type, word=0, bits=1 << 62)  # type: ignore[union-attr]
    monkeypatch.setattr("gridjit.runtime.args.tensors.lazy_flags", lambda package: flags)
    monkeypatch.setattr(
        foreign_described, "_operation", lambda obj: handler.operation(obj, Place(), handler.type_of(obj, Place()))
    )
    monkeypatch.setattr(foreign_described, "_describers", {0: {}, -1: {}})
    monkeypatch.setattr(foreign_attributes, "_readers", {})
    monkeypatch.setattr(foreign_attributes, "_known", {})


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what is read by its attributes, from the second view of its kind on."""
    found: list[Any] = []
    before = foreign_attributes._read_tensor

    def noted(tensor: Any, stream: int) -> Any:
        found.append(tensor)
        return before(tensor, stream)

    monkeypatch.setattr(foreign_attributes, "_read_tensor", noted)
    return found


@pytest.mark.parametrize("stream", [0, -1])
def test_a_view_of_an_array_of_a_known_kind_is_the_interfaces_own_whatever_its_shape(
    read: list[Any], stream: int
) -> None:
    gridjit.StridedMemoryView(Tensor(items()), stream)
    read.clear()
    for array in (items(7), items(3, (2, 9)), items(5, (1, 6))):
        view = gridjit.StridedMemoryView(Tensor(array), stream)
        own = gridjit.StridedMemoryView(array)
        assert (view._kind, view._parameters) == (own._kind, own._parameters)
        assert (view.ptr, view.shape, view.strides_in_bytes) == (own.ptr, own.shape, own.strides_in_bytes)
        back = np.zeros_like(array)
        view.copy_to(back)
        assert (back == array).all()
    assert read == []


@pytest.mark.parametrize(
    "other",
    [items(shape=(24,)), items().T, items(shape=(4, 12))[:, ::2], items().astype(np.int32), items(shape=(0, 6))],
    ids=["rank", "transposed", "strided", "dtype", "empty"],
)
def test_an_array_of_another_kind_is_looked_at_itself(read: list[Any], other: Any) -> None:
    gridjit.StridedMemoryView(Tensor(items()))
    read.clear()
    view, own = gridjit.StridedMemoryView(Tensor(other)), gridjit.StridedMemoryView(other)
    assert read
    assert (view._kind, view.shape, view.strides_in_bytes) == (own._kind, own.shape, own.strides_in_bytes)


def test_an_array_that_is_not_aligned_or_asks_for_gradients_is_looked_at_itself(read: list[Any]) -> None:
    gridjit.StridedMemoryView(Tensor(items()))
    odd = np.zeros(97, np.uint8)[1:].view(np.float32).reshape(4, 6)
    read.clear()
    assert gridjit.StridedMemoryView(Tensor(odd))._kind == gridjit.StridedMemoryView(odd)._kind
    asks = Tensor(items())
    asks.requires_grad = True
    gridjit.StridedMemoryView(asks)
    assert len(read) >= 2


def test_what_a_view_is_of_is_kept_and_described_without_a_reference_too_many() -> None:
    gridjit.StridedMemoryView(Tensor(items()))
    tensor = Tensor(items(9))
    known = foreign_described._describers[0][Tensor].describe(tensor)
    assert known is not None
    counts = sys.getrefcount(tensor), sys.getrefcount(known[0])
    views = [gridjit.StridedMemoryView(tensor) for _ in range(100)]
    assert views[0].exporting_obj is tensor
    del views
    gc.collect()
    assert (sys.getrefcount(tensor), sys.getrefcount(known[0])) == counts


def described_by(operation: Any, answer: object) -> NativeFunction:
    function = native_function(MemoryStore(), lambda *_: None, lambda *_: None)
    assert function is not None
    function.add(
        LaunchTable(
            launch=0,
            entry=KernelHandle(handle=id(answer)),
            config=LaunchConfig.of(1, 1),
            sharedmem=0,
            stream=0,
            operations=(operation,),
            keep=(answer,),
            describes=True,
        )
    )
    return function


def test_machine_code_answers_with_the_tables_object_and_the_parameters_or_as_python_does() -> None:
    x, answer = items(), object()
    operation = array_operation(x, array_type(x))
    assert operation is not None
    function = described_by(dataclasses.replace(operation), answer)
    found: Any = function.call(x)
    assert found[0] is answer
    assert found[1] == gridjit.StridedMemoryView(x)._parameters
    assert function.call(x.T) is None
