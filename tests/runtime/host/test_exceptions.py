"""Exceptions raised in kernels come back as their code, with the block and the thread that raised them."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.options import Options
from gridjit.runtime.devices.host.launch import Status

cuda = numba_cuda()


def refuses(x):
    i = cuda.grid(1)
    if x[i] < 0:
        raise ValueError("negative")
    x[i] += 1


def test_a_kernel_that_raises_nothing_returns_none(run):
    x = np.zeros(100, np.int64)
    assert run(refuses, 4, 25, x) is None
    assert x.tolist() == [1] * 100


@pytest.mark.parametrize("threads", [1, 2])
def test_the_thread_that_raised_is_named(run, threads):
    x = np.zeros(1000, np.int64)
    x[637] = -1
    status = run(refuses, 40, 25, x, threads=threads)
    assert status == Status(code=status.code, block=(25, 0, 0), thread=(12, 0, 0))
    assert status.code > 0


def refuses_after_a_barrier(x):
    shared = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    if shared[31 - t] == 7:
        raise RuntimeError("seven")
    cuda.syncthreads()
    x[t] = 1


def test_an_exception_between_barriers_ends_the_block(run):
    x = np.arange(32)
    status = run(refuses_after_a_barrier, 1, 32, x)
    assert (status.block, status.thread) == ((0, 0, 0), (24, 0, 0))
    assert x.tolist() == list(range(32))


def outside(x, n):
    i = cuda.grid(1)
    x[i + n] = 1


def test_debug_turns_an_index_out_of_bounds_into_an_exception(run):
    x = np.zeros(64, np.int64)
    assert run(outside, 2, 32, x, 0, options=Options(debug=True)) is None
    status = run(outside, 2, 32, x, 40, options=Options(debug=True))
    assert status is not None
    assert status.code > 0


def divides(x, y):
    i = cuda.grid(1)
    x[i] = x[i] // y[i]


def test_debug_turns_a_division_by_zero_into_an_exception(run):
    x, y = np.ones(8, np.int64), np.ones(8, np.int64)
    y[5] = 0
    status = run(divides, 1, 8, x, y, options=Options(debug=True))
    assert status is not None
    assert status.thread == (5, 0, 0)
