"""debug=True: what goes wrong in a kernel is an exception in Python that names the block and the thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("target")


def shifts(x, by):
    i = cuda.grid(1)
    x[i + by] = i


def shifts_in_shared(x, by):
    tile = cuda.shared.array(32, np.int64)
    tile[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = tile[cuda.threadIdx.x + by]


def shifts_in_dynamic_shared(x, by):
    tile = cuda.shared.array(0, np.int64)
    tile[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = tile[cuda.threadIdx.x + by]


def shifts_in_local(x, by):
    own = cuda.local.array(32, np.int64)
    own[cuda.threadIdx.x + by] = 1
    x[cuda.grid(1)] = own[cuda.threadIdx.x + by]


@gridjit.jit(device=True)
def put(x, i, value):
    x[i] = value


def shifts_in_a_function(x, by):
    i = cuda.grid(1)
    put(x, i + by, i)


def refuses(x, by):
    i = cuda.grid(1)
    if i == by:
        raise ValueError("not this one")
    x[i] = 1


def debugged(function: Any) -> gridjit.Kernel:
    kernel: gridjit.Kernel = gridjit.jit(function, debug=True, opt=False)
    return kernel


SHIFTS = [shifts, shifts_in_shared, shifts_in_dynamic_shared, shifts_in_local, shifts_in_a_function]


@pytest.mark.each_value_once
@pytest.mark.parametrize("function", SHIFTS)
@pytest.mark.parametrize(("by", "thread"), [(1, "31"), (20, r"\d+"), (-100, r"\d+")])
def test_an_index_out_of_bounds_raises_and_nothing_is_written_there(function: Any, by: int, thread: str) -> None:
    whole = cuda.to_device(np.full(192, -1))
    place = rf"{function.__qualname__}, tid=\[{thread}, 0, 0\] ctaid=\[[01], 0, 0\]"
    with pytest.raises(IndexError, match=f"{place}.*index is out of bounds"):
        debugged(function)[2, 32, 0, 32 * 8](whole[64:128], by)
    after = whole.copy_to_host()
    assert set(after[:64]) == set(after[128:]) == {-1}


@pytest.mark.some(1)
@pytest.mark.parametrize("function", SHIFTS)
def test_a_kernel_that_stays_within_its_arrays_runs_after_one_that_did_not(function: Any) -> None:
    kernel, x = debugged(function), cuda.to_device(np.full(64, -1))
    with pytest.raises(IndexError):
        kernel[2, 32, 0, 32 * 8](x, 40)
    kernel[2, 32, 0, 32 * 8](x, 0)
    assert x.copy_to_host().min() >= 0


def test_an_exception_names_kernel_block_thread_and_line() -> None:
    kernel, x = debugged(refuses), np.zeros(128, np.int64)
    line = refuses.__code__.co_firstlineno + 3
    place = rf"In function 'refuses', file test_debug\.py, line {line}, .*refuses, tid=\[3, 0, 0\] ctaid=\[1, 0, 0\]"
    with pytest.raises(ValueError, match=f"{place}: not this one"):
        kernel[1, 32](x, 35)
        kernel[2, 32](x, 35)


def test_a_division_by_zero_names_block_and_thread() -> None:
    with pytest.raises(ZeroDivisionError, match=r"divides, tid=\[5, 0, 0\] ctaid=\[1, 0, 0\]"):
        debugged(divides)[2, 32](np.arange(64), 37)


def divides(x, zero):
    i = cuda.grid(1)
    x[i] = 100 // (x[i] - zero)
