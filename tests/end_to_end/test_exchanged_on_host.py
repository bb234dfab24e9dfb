"""Where the host stands in for a GPU, arrays go between libraries as they do there: by the CUDA array interface."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.devices import presence


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this be a computer without a GPU."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setattr(presence, "device_count", lambda: 0)


class Theirs:
    """An array of another library, which says where its memory is."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


@gridjit.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@pytest.mark.parametrize("part", [slice(None), slice(None, None, 2), slice(None, None, -1)])
def test_a_kernel_takes_what_another_library_says_is_on_the_device(part: slice) -> None:
    ours = cuda.to_device(np.arange(8.0))
    double[1, 32](Theirs(ours[part]))
    expected = np.arange(8.0)
    expected[part] *= 2
    assert (ours.copy_to_host() == expected).all()


def test_it_becomes_a_device_array_over_the_same_memory_and_keeps_it_alive() -> None:
    ours = cuda.to_device(np.arange(8.0))
    assert cuda.is_cuda_array(ours) and not cuda.is_cuda_array(np.ones(3))
    theirs = Theirs(ours)
    kept, again = weakref.ref(theirs), cuda.as_cuda_array(theirs)
    del ours, theirs
    assert kept() is not None
    double[1, 32](again)
    assert again.copy_to_host().tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def taking(table: Any) -> Any:
    """Return a kernel that takes from an array of its own, and adds 1 there."""

    @gridjit.jit
    def take(out):
        i = cuda.grid(1)
        out[i] = table[i]
        table[i] += 1

    return take


def test_a_kernel_uses_the_device_array_that_it_was_made_with_and_not_another_kernels() -> None:
    out = np.zeros(4)
    for factor in (1, 10):
        table = cuda.to_device(factor * np.arange(4.0))
        take = taking(table)
        take[1, 4](out)
        take[1, 4](out)
        assert out.tolist() == (factor * np.arange(4.0) + 1).tolist()
        assert table.copy_to_host().tolist() == (factor * np.arange(4.0) + 2).tolist()
