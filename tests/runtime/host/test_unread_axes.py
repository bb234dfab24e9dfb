"""Kernels whose threads do not ask for their place along an axis run for all threads of blocks that extend along it."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()

BLOCKS = [(8, 1, 1), (8, 3, 1), (8, 1, 2), (8, 2, 3)]


def rows_of(block):
    return block[1] * block[2]


def guarded(n, out):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(out, i, 1)


def strided(n, out):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(out, i, 1)


def returning(n, out):
    i = cuda.grid(1)
    if i >= n:
        return
    tile = cuda.shared.array(8, np.int32)
    tile[cuda.threadIdx.x] = 1
    cuda.syncthreads()
    cuda.atomic.add(out, i, tile[cuda.threadIdx.x])


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kernel", [guarded, strided, returning])
@pytest.mark.parametrize("n", [1, 8, 21, 24])
def test_each_row_does_what_the_first_does(run, kernel, block, n):
    out = np.zeros(24, np.int32)
    run(kernel, 3, block, np.int64(n), out)
    assert np.array_equal(out, np.where(np.arange(24) < n, rows_of(block), 0))


def turning(out):
    tile = cuda.shared.array(8, np.int32)
    t = cuda.threadIdx.x
    tile[t] = 0
    cuda.syncthreads()
    step = 1
    while step < 8:
        cuda.atomic.add(tile, (t + step) % 8, step)
        cuda.syncthreads()
        step *= 2
    if t == 0:
        cuda.atomic.add(out, cuda.blockIdx.x, tile[0])


@pytest.mark.parametrize("block", BLOCKS)
def test_rows_share_the_values_of_a_loop_with_a_barrier_until_the_last_has_taken_its_turn(run, block):
    out = np.zeros(2, np.int32)
    run(turning, 2, block, out)
    assert out.tolist() == [7 * rows_of(block) ** 2] * 2


def counting(x, out):
    t = cuda.threadIdx.x
    count = cuda.syncthreads_count(np.int32(x[t] > 3))
    if t == 7:
        cuda.atomic.add(out, 0, count)


@pytest.mark.parametrize("block", BLOCKS)
def test_all_rows_take_part_in_what_a_block_does_together(run, block):
    out = np.zeros(1, np.int32)
    run(counting, 1, block, np.arange(8), out)
    assert out[0] == 4 * rows_of(block) ** 2


def shuffled(x, out):
    t = cuda.threadIdx.x
    cuda.atomic.add(out, t, cuda.shfl_down_sync(0xFFFFFFFF, x[t], 1))


@pytest.mark.parametrize("block", [(32, 1, 1), (32, 2, 1), (32, 2, 2)])
def test_each_row_of_warps_does_what_lanes_do_together(run, block):
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    run(shuffled, 1, block, x, out)
    assert np.array_equal(out, rows_of(block) * np.minimum(x + 1, 31))


def raising(x, out):
    t = cuda.threadIdx.x
    cuda.atomic.add(out, t, 1)
    if x[t] < 0:
        raise ValueError("negative")


@pytest.mark.parametrize("block", BLOCKS)
def test_a_thread_that_raises_is_told_of_once_all_rows_were_run(run, block):
    x, out = np.arange(8), np.zeros(8, np.int32)
    x[5] = -1
    status = run(raising, 1, block, x, out)
    assert status is not None
    assert out.tolist() == [rows_of(block)] * 8


def tiled(out):
    tile = cuda.shared.array((4, 2), np.int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    tile[x, y] = 0
    cuda.syncthreads()
    step = 1
    while step < 4:
        cuda.atomic.add(tile, ((x + step) % 4, y), step)
        cuda.syncthreads()
        step *= 2
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        cuda.atomic.add(out, (i, j), tile[x, y])


@pytest.mark.parametrize("planes", [1, 2, 5])
def test_planes_share_them_as_well(run, planes):
    out = np.zeros((7, 3), np.int32)
    run(tiled, (2, 2), (4, 2, planes), out)
    assert np.array_equal(out, np.full((7, 3), 3 * planes**2))


def across(out):
    j, z = cuda.threadIdx.y, cuda.threadIdx.z
    cuda.atomic.add(out, (z, j), 1)


def deep(out):
    cuda.atomic.add(out, cuda.threadIdx.z, 1)


def alone(out):
    cuda.atomic.add(out, 0, 1)


@pytest.mark.parametrize(
    ("kernel", "shape", "each"), [(across, (3, 2), 4), (deep, (3,), 8), (alone, (1,), 24)], ids=["yz", "z", "none"]
)
def test_any_axes_may_be_the_unread_ones(run, kernel, shape, each):
    out = np.zeros(shape, np.int32)
    run(kernel, 1, (4, 2, 3), out)
    assert np.array_equal(out, np.full(shape, each))
