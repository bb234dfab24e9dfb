"""Threads at one place of a row do what others do not, wherever the place is and however rows begin and end."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()


def borders(x, out, ends):
    tile = cuda.shared.array(66, np.int64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t + 1] = x[i + 1]
    if t == 0:
        tile[0] = x[i]
    if t == cuda.blockDim.x - 1:
        tile[t + 2] = x[i + 2]
    cuda.syncthreads()
    out[i] = tile[t] + tile[t + 1] + tile[t + 2]
    if t != 3:
        out[i] += 1000
    if t == 40:
        ends[cuda.blockIdx.x] = tile[t]


@pytest.mark.parametrize("block", [1, 2, 3, 4, 31, 41, 64])
def test_the_first_and_last_threads_fill_a_tiles_borders(run, block):
    x = np.random.default_rng(block).integers(0, 100, 5 * block + 2)
    out, ends = np.zeros(5 * block, np.int64), np.zeros(5, np.int64)
    run(borders, 5, block, x, out, ends)
    place = np.arange(out.size) % block
    assert np.array_equal(out, x[:-2] + x[1:-1] + x[2:] + 1000 * (place != 3))
    assert np.array_equal(ends, x[40::block][:5] if block > 40 else np.zeros(5))


def borders_first(x, out):
    tile = cuda.shared.array(66, np.int64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        tile[0] = x[i]
    if t == cuda.blockDim.x - 1:
        tile[cuda.blockDim.x + 1] = x[i + 2]
    tile[t + 1] = x[i + 1]
    cuda.syncthreads()
    out[i] = tile[t] + tile[t + 1] + tile[t + 2]


@pytest.mark.parametrize("block", [1, 2, 3, 31, 64])
def test_a_tiles_borders_may_be_filled_before_the_rest(run, block):
    x = np.random.default_rng(block).integers(0, 100, 5 * block + 2)
    out = np.zeros(5 * block, np.int64)
    run(borders_first, 5, block, x, out)
    assert np.array_equal(out, x[:-2] + x[1:-1] + x[2:])


def border_of_rows(x, out):
    tile = cuda.shared.array((9, 9), np.int64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    if i >= x.shape[0] or j >= x.shape[1]:
        return
    tile[ty + 1, tx + 1] = x[i, j]
    if tx == 0:
        tile[ty + 1, 0] = x[i, j - 1] if j > 0 else -1
    if ty == 0:
        tile[0, tx + 1] = x[i - 1, j] if i > 0 else -2
    if tx == 0 and ty == 0:
        tile[0, 0] = -3
    cuda.syncthreads()
    out[i, j] = tile[ty + 1, tx + 1] + 10 * tile[ty + 1, tx] + 100 * tile[ty, tx + 1]


@pytest.mark.parametrize("shape", [(8, 8), (5, 3), (17, 30)])
def test_borders_of_planes_behind_a_return(run, shape):
    x = np.random.default_rng(1).integers(0, 9, shape)
    out = np.zeros(shape, np.int64)
    run(border_of_rows, (-(-shape[1] // 8), -(-shape[0] // 8)), (8, 8), x, out)
    padded = np.pad(x, ((1, 0), (1, 0)))
    padded[0, 1:], padded[1:, 0] = -2, -1
    assert np.array_equal(out, x + 10 * padded[1:, :-1] + 100 * padded[:-1, 1:])


def halo(x, out):
    tile = cuda.shared.array((10, 34), np.int64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    rows, columns = x.shape
    if i < rows and j < columns:
        tile[ty + 1, tx + 1] = x[i, j]
        if ty == 0 and i > 0:
            tile[0, tx + 1] = x[i - 1, j]
        if ty == cuda.blockDim.y - 1 and i < rows - 1:
            tile[ty + 2, tx + 1] = x[i + 1, j]
        if tx == 0 and j > 0:
            tile[ty + 1, 0] = x[i, j - 1]
        if tx == cuda.blockDim.x - 1 and j < columns - 1:
            tile[ty + 1, tx + 2] = x[i, j + 1]
    cuda.syncthreads()
    if 0 < i < rows - 1 and 0 < j < columns - 1:
        beside = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + 10 * tile[ty + 1, tx] + 100 * tile[ty + 1, tx + 2]
        out[i, j] = 1000 * tile[ty + 1, tx + 1] + beside


@pytest.mark.each_value_once
@pytest.mark.parametrize("block", [(32, 8), (5, 3), (1, 4), (16, 1, 1)])
@pytest.mark.parametrize("apart", [1, 2])
def test_a_tile_with_a_border_on_each_side(run, block, apart):
    for shape in ((8, 32), (17, 70), (3, 5)):
        x = np.random.default_rng(1).integers(0, 9, (shape[0], shape[1] * apart))[:, ::apart]
        out, expected = np.zeros((2, *shape), np.int64)
        run(halo, (-(-shape[1] // block[0]), -(-shape[0] // block[1])), block, x, out)
        inner = 1000 * x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + 10 * x[1:-1, :-2] + 100 * x[1:-1, 2:]
        expected[1:-1, 1:-1] = inner
        np.testing.assert_array_equal(out, expected, f"{shape}")


def along_columns(x, out):
    i, j = cuda.grid(2)
    t = cuda.threadIdx.y
    if i < x.shape[0] and j < x.shape[1]:
        value = x[i, j]
        if t == 2:
            value += 1000
        if t + cuda.threadIdx.x == 5:
            value += 10_000
        out[i, j] = value


def test_a_place_along_the_second_axis_and_one_of_both(run):
    x = np.arange(15 * 21).reshape(15, 21)
    out = np.zeros_like(x)
    run(along_columns, (4, 3), (4, 8), x, out)
    i, j = np.indices(x.shape)
    assert np.array_equal(out, x + 1000 * (j % 8 == 2) + 10_000 * (i % 4 + j % 8 == 5))


def raises_at_the_end(x):
    t = cuda.threadIdx.x
    x[t] = 1
    cuda.syncthreads()
    if t == cuda.blockDim.x - 2:
        raise ValueError("told")
    x[t] += 1


def test_a_rare_thread_that_raises_is_named(run):
    status = run(raises_at_the_end, 1, 50, np.zeros(50, np.int64))
    assert status.thread == (48, 0, 0)


def counts_once(x, counts):
    tile = cuda.shared.array(64, np.int64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    tile[t] = x[t]
    if t == 0:
        counts[b, 0] += 1
    if t == cuda.blockDim.x - 1:
        counts[b, 1] += 1
    if t == 1:
        counts[b, 2] += 1
    cuda.syncthreads()
    x[t] = tile[t]


@pytest.mark.parametrize("block", [1, 2, 3, 40])
def test_a_thread_at_two_places_of_a_row_does_what_it_does_once(run, block):
    counts = np.zeros((4, 3), np.int64)
    run(counts_once, 4, block, np.arange(block), counts)
    assert counts.tolist() == [[1, 1, int(block > 1)]] * 4


def of_what_was_overwritten(x, ends):
    t = cuda.threadIdx.x
    old = x[t]
    x[t] = old + 1
    if t == 0:
        ends[0] = old


def reads_its_own(x, ends):
    t = cuda.threadIdx.x
    if t == 0:
        ends[0] = x[t] + 7
    ends[1 + t] = ends[0] if t == 0 else x[t]


def hands_on(x, ends):
    tile = cuda.shared.array(64, np.int64)
    t, own = cuda.threadIdx.x, 1
    if t == 0:
        own = x[1]
    tile[t] = own
    cuda.syncthreads()
    ends[t] = tile[t] * 2 + own


def carries(x, ends):
    tile = cuda.shared.array((5, 64), np.int64)
    t, value = cuda.threadIdx.x, x[cuda.threadIdx.x]
    for turn in range(5):
        if t == 0:
            ends[turn] = value
        tile[turn, t] = value
        cuda.syncthreads()
        value = value * 2 + 1
    x[t] = value + tile[4, (t + 1) % cuda.blockDim.x]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (of_what_was_overwritten, [3, 0, 0, 0, 0]),
        (reads_its_own, [10, 10, 4, 5, 6]),
        (hands_on, [12, 3, 3, 3, 0]),
        (carries, [3, 7, 15, 31, 63]),
    ],
)
def test_what_a_rare_thread_uses_is_what_it_was_then(run, kernel, expected):
    ends = np.zeros(5, np.int64)
    run(kernel, 1, 4, np.arange(3, 7), ends)
    assert ends.tolist() == expected
