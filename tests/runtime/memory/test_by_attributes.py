"""Views of torch's and CuPy's arrays are made from what an interface said of arrays like them, where that holds."""

from __future__ import annotations

import ctypes
import types
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.runtime.args import cupy
from gridjit.runtime.arrays import foreign_attributes


class Device:
    """The host, for what asks for a GPU's number."""

    index = None


class Tensor:
    """What of torch.Tensor a view reads, over the host's memory, counting how often its array interface is asked."""

    requires_grad = False
    device = Device
    asked = 0

    def __init__(self, items: np.ndarray[Any, Any]) -> None:
        self.items = items
        self.shape, self.dtype = items.shape, items.dtype.name
        self.flags: set[str] = set()

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.items.itemsize for step in self.items.strides)

    def data_ptr(self) -> int:
        if "sparse" in self.flags:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.items.__array_interface__["data"][0]

    def is_conj(self) -> bool:
        return "conj" in self.flags

    def is_neg(self) -> bool:
        return "neg" in self.flags

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        type(self).asked += 1
        return {**self.items.__array_interface__, "version": 2}


Tensor.__module__ = "torch"


class CupyArray:
    """The same of cupy.ndarray."""

    asked = 0

    def __init__(self, items: np.ndarray[Any, Any]) -> None:
        self.items, self.shape, self.strides, self.dtype = items, items.shape, items.strides, items.dtype
        self.data = types.SimpleNamespace(ptr=items.__array_interface__["data"][0], device_id=0)
        self.device = Device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        type(self).asked += 1
        return {**self.items.__array_interface__, "stream": stream_of_cupy() or 1}


CupyArray.__module__, CupyArray.__name__ = "cupy", "ndarray"
current = [0]


def stream_of_cupy() -> int:
    return current[0]


TOLD = ctypes.CFUNCTYPE(ctypes.c_ssize_t)(stream_of_cupy)


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_attributes, "_readers", {})
    monkeypatch.setattr(foreign_attributes, "_known", {})
    # As on an interpreter without machine code for it.
    monkeypatch.setattr(foreign_attributes, "learn_description", lambda *_: None)
    monkeypatch.setattr(Tensor, "asked", 0)
    monkeypatch.setattr(CupyArray, "asked", 0)
    current[0] = 0
    monkeypatch.setattr(cupy, "stream_function", lambda: ctypes.cast(TOLD, ctypes.c_void_p).value)


def items(first: float = 0, shape: tuple[int, ...] = (4, 6)) -> np.ndarray[Any, Any]:
    """Return an array that is aligned as GPUs' are."""
    memory = np.zeros(4096, np.uint8)
    start = -memory.ctypes.data % 256
    made = memory[start : start + 4 * int(np.prod(shape))].view(np.float32).reshape(shape)
    made[...] = np.arange(first, first + made.size).reshape(shape)
    return made


@pytest.mark.parametrize("kind", [Tensor, CupyArray])
def test_an_array_like_one_that_was_seen_is_not_asked_for_its_interface_and_its_own_memory_is_viewed(kind: Any) -> None:
    gridjit.StridedMemoryView(kind(items()))
    second = kind(items(100))
    view = gridjit.StridedMemoryView(second)
    assert kind.asked == 1
    assert (view.shape, view.strides_in_bytes, view.dtype) == ((4, 6), (24, 4), np.dtype(np.float32))
    assert view.ptr == second.items.ctypes.data and view.exporting_obj is second and not view.readonly
    back = np.zeros((4, 6), np.float32)
    view.copy_to(back)
    assert (back == second.items).all()


@pytest.mark.parametrize("kind", [Tensor, CupyArray])
def test_a_kernel_gets_the_memory_of_an_array_like_one_that_was_seen(kind: Any) -> None:
    @gridjit.jit
    def add(x, y):
        x[0, 1] += y

    made = [kind(items()) for _ in range(3)]
    for each in made:
        add[1, 1](gridjit.StridedMemoryView(each), 5.0)
    assert [each.items[0, 1] for each in made] == [6, 6, 6] and add.stats.compiles == 1


@pytest.mark.parametrize("kind", [Tensor, CupyArray])
@pytest.mark.parametrize(
    "other",
    [items(shape=(6, 4)), items(shape=(4, 6)).T, items(shape=(8, 6))[::2], items().astype(np.float64), items()[1:, 1:]],
    ids=["shape", "transposed", "strided", "dtype", "slice"],
)
def test_an_array_of_other_attributes_is_asked_itself(kind: Any, other: np.ndarray[Any, Any]) -> None:
    gridjit.StridedMemoryView(kind(items()))
    view = gridjit.StridedMemoryView(kind(other))
    assert kind.asked == 2
    assert (view.shape, view.strides_in_bytes, view.dtype, view.ptr) == (
        other.shape,
        other.strides,
        other.dtype,
        other.ctypes.data,
    )


@pytest.mark.parametrize("flag", ["conj", "neg", "sparse", "grad"])
def test_a_tensor_whose_memory_is_not_its_items_is_asked_itself(flag: str) -> None:
    gridjit.StridedMemoryView(Tensor(items()))
    tensor = Tensor(items())
    tensor.flags.add(flag)
    tensor.requires_grad = flag == "grad"
    gridjit.StridedMemoryView(tensor)
    assert Tensor.asked == 2


def test_a_cupy_array_whose_work_is_in_another_stream_is_waited_for() -> None:
    gridjit.StridedMemoryView(CupyArray(items()))
    with gridjit.create_stream() as stream:  # the view's work is there
        gridjit.StridedMemoryView(CupyArray(items()))
    current[0] = stream.handle
    gridjit.StridedMemoryView(CupyArray(items()))
    assert CupyArray.asked == 3
    gridjit.StridedMemoryView(CupyArray(items()), -1)
    assert CupyArray.asked == 3


def test_an_array_without_items_or_with_a_stream_of_its_users_is_asked_itself() -> None:
    for _ in range(2):
        gridjit.StridedMemoryView(Tensor(np.zeros((0, 3), np.float32)))
    assert Tensor.asked == 2
    with gridjit.create_stream() as stream:
        pass
    for _ in range(2):
        assert gridjit.StridedMemoryView(Tensor(items()), stream).stream is stream
    assert Tensor.asked == 4


def test_a_view_keeps_the_array_that_it_is_of_and_not_the_one_like_it_that_was_seen_first() -> None:
    import gc
    import weakref

    first, second = Tensor(items()), Tensor(items(7))
    gone = weakref.ref(first)
    gridjit.StridedMemoryView(first)
    view = gridjit.StridedMemoryView(second)
    kept = weakref.ref(second)
    array = view.layout and view._array
    del first, second, view
    gc.collect()
    assert gone() is None and kept() is not None and array.shape == (4, 6)
