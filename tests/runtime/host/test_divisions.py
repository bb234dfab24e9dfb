"""An integer division that only some threads of a row come to is right for each of them, whatever its operands are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

GRID, BLOCK = 3, 33


def of_the_block(x, out, n):
    tile = cuda.shared.array(256, np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = 0
    tile[t] = t * 3
    if t == 3 or t == cuda.blockDim.x - 1:
        out[0, i] += t + 1
    if t + 1 == 3:
        out[1, i] += cuda.blockIdx.x
    cuda.syncthreads()
    if t == 1:
        v += tile[(t + 1) % cuda.blockDim.x]
    if t != cuda.blockDim.x - 2:
        out[0, i] += v


def expected_of_the_block(out: Any) -> None:
    threads, blocks = np.arange(GRID * BLOCK) % BLOCK, np.arange(GRID * BLOCK) // BLOCK
    out[0] += np.where((threads == 3) | (threads == BLOCK - 1), threads + 1, 0) + np.where(threads == 1, 6, 0)
    out[1] += np.where(threads == 2, blocks, 0)


def of_an_argument(x, out, n):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    out[1, i] = x[i] * 2
    if t == 5:
        out[0, i] = x[i] + (t + 40) // n
    if t == 7:
        out[0, i] = x[i] - (100 - t) % n


def expected_of_an_argument(out: Any) -> None:
    x, threads = np.arange(GRID * BLOCK), np.arange(GRID * BLOCK) % BLOCK
    out[1] = 2 * x
    out[0] = np.where(threads == 5, x + 45 // 6, 0) + np.where(threads == 7, x - 93 % 6, 0)


def of_one_thread_of_a_row(x, out, n):
    tile = cuda.shared.array(256, np.int64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty * 8 + tx] = 3 * (ty * 8 + tx)
    cuda.syncthreads()
    if tx == cuda.blockDim.x - 1:
        v = ty
        if ty == 1:
            v += tile[(ty + 1) % cuda.blockDim.x] + tile[(ty + 40) // n]
        out[0, ty] = v


def expected_of_one_thread_of_a_row(out: Any) -> None:
    out[0, :32] = np.arange(32)
    out[0, 1] += 6 + 18


def after_a_shuffle(x, out, n):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    above = cuda.shfl_xor_sync(0xFFFFFFFF, x[i], 1)
    if t == 9:
        above += (t + 40) % n
    out[0, i] = above


def expected_after_a_shuffle(out: Any) -> None:
    x = np.arange(64)
    out[0, :64] = (x ^ 1) + np.where(x % 32 == 9, 49 % 6, 0)


@pytest.mark.parametrize(
    ("kernel", "expected", "launch"),
    [
        (of_the_block, expected_of_the_block, (GRID, BLOCK)),
        (of_an_argument, expected_of_an_argument, (GRID, BLOCK)),
        (of_one_thread_of_a_row, expected_of_one_thread_of_a_row, (1, (8, 32))),
        (after_a_shuffle, expected_after_a_shuffle, (2, 32)),
    ],
)
def test_a_division_that_few_threads_of_a_row_make_is_right(
    kernel: Any, expected: Callable[[Any], None], launch: tuple[object, object]
) -> None:
    compiled = gridjit.jit(kernel, target="host", cache=False)
    wanted = np.zeros((2, GRID * BLOCK), np.int64)
    expected(wanted)
    for _ in range(3):
        out = np.zeros_like(wanted)
        compiled[launch](np.arange(GRID * BLOCK), out, 6)
        np.testing.assert_array_equal(out, wanted)
