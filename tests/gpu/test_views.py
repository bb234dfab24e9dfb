"""Views of real torch tensors and CuPy arrays, the first and those made of what the first taught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.arrays import foreign_attributes

SHAPES: dict[str, Any] = {"dense": np.s_[:], "rows": np.s_[1:], "columns": np.s_[:, ::2], "item": np.s_[1, 2:3]}


def of_torch(values: np.ndarray[Any, Any]) -> Any:
    torch = pytest.importorskip("torch")
    return torch.as_tensor(values, device="cuda")


def of_cupy(values: np.ndarray[Any, Any]) -> Any:
    cupy = pytest.importorskip("cupy")
    return cupy.asarray(values)


@pytest.mark.parametrize("make", [of_torch, of_cupy])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex64, np.bool_])
@pytest.mark.parametrize("key", SHAPES)
def test_the_third_view_is_of_its_own_array(make: Any, dtype: Any, key: str) -> None:
    known = len(foreign_attributes._known)
    for round_ in range(3):
        values = np.arange(round_, round_ + 24).reshape(4, 6).astype(dtype)
        array = make(values)[SHAPES[key]]
        view = gridjit.StridedMemoryView(array)
        assert view.ptr == (array.data_ptr() if hasattr(array, "data_ptr") else array.data.ptr)
        back = np.empty(values[SHAPES[key]].shape, dtype)
        view.copy_to(back)
        assert (back == values[SHAPES[key]]).all()
    assert len(foreign_attributes._known) <= known + 1


@pytest.mark.parametrize("make", [of_torch, of_cupy])
def test_a_kernel_writes_to_the_array_that_the_view_is_of(make: Any) -> None:
    @gridjit.jit
    def add(x, y):
        x[cuda.grid(1)] += y

    for _ in range(3):
        array = make(np.zeros(64, np.float32))
        add[2, 32](gridjit.StridedMemoryView(array), np.float32(2))
        cuda.synchronize()
        assert float(array.sum()) == 128
    assert add.stats.compiles == 1


def test_tensors_whose_bytes_are_not_their_items_are_never_taken_by_their_attributes() -> None:
    torch = pytest.importorskip("torch")
    plain = torch.ones(8, device="cuda", dtype=torch.complex64)
    assert gridjit.StridedMemoryView(plain).dtype == np.complex64
    read = foreign_attributes._readers[torch.Tensor]
    assert read(plain, 0) is not None
    for other in (
        plain.conj(),
        torch.ones(8, device="cuda").to_sparse(),
        torch.ones(8, device="cuda").requires_grad_(),
    ):
        assert read(other, 0) is None


def test_a_view_of_a_cupy_array_waits_for_its_stream() -> None:
    cupy = pytest.importorskip("cupy")
    values = cupy.zeros(1 << 22, np.float32)
    gridjit.StridedMemoryView(values)
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(50):
            values += 1
        view = gridjit.StridedMemoryView(values)
    back = np.empty(values.shape, np.float32)
    view.copy_to(back)
    assert set(back) == {50.0}
