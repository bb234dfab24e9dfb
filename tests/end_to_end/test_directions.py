"""In, Out and InOut mean on the host what they mean on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda


@gridjit.jit
def double_into(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] *= 2
        out[i] = x[i]


@gridjit.jit
def double_first(pair, out):
    i = cuda.grid(1)
    if i < pair[0].shape[0]:
        pair[0][i] *= 2
        out[i] = pair[0][i]


SHAPES: dict[str, Callable[[], Any]] = {
    "contiguous": lambda: np.arange(6.0),
    "every second": lambda: np.arange(12.0)[::2],
    "backwards": lambda: np.arange(6.0)[::-1],
    "unaligned": lambda: np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64),
    "read-only": lambda: np.broadcast_to(np.float64(3), 6),
}


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "read-only"])
def test_an_array_passed_as_in_stays_as_it_is_whatever_the_kernel_writes(target: str, shape: str) -> None:
    x, out = SHAPES[shape](), np.zeros(6)
    expected = x.copy()
    for _ in range(2):
        double_into[1, 32](cuda.In(x), cuda.Out(out))
        assert (x == expected).all() and (out == 2 * expected).all()


def test_an_array_in_a_tuple_passed_as_in_stays_as_it_is(target: str) -> None:
    x, out = np.arange(6.0), np.zeros(6)
    double_first[1, 32]((cuda.In(x), cuda.In(np.zeros(1))), cuda.Out(out))
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and out.tolist() == [0, 2, 4, 6, 8, 10]


def test_an_array_that_shares_memory_with_one_that_is_wanted_back_shares_it_in_the_kernel(target: str) -> None:
    x = np.arange(6.0)
    double_into[1, 32](cuda.In(x), cuda.InOut(x))
    assert x.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_read_only_array_is_used_where_it_is() -> None:
    @gridjit.jit(target="host")
    def address(x, out):
        out[0] = x.ctypes.data

    for make, same in ((SHAPES["read-only"], True), (SHAPES["contiguous"], False)):
        x, out = make(), np.zeros(1, np.int64)
        address[1, 1](cuda.In(x), out)
        assert bool(out[0] == x.__array_interface__["data"][0]) is same
