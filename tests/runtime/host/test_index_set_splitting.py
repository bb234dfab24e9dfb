"""Rows whose conditions change along them, at one place or at several, give what each thread by itself would."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.runtime.host.oracle import run_in_python

cuda = numba_cuda()


def ordered(slope, other):
    def kernel(out, first, second, n):
        i = cuda.grid(1)
        if i < n:
            if slope * i + first < other * i + second:
                out[0, i] += 1
            else:
                out[0, i] += 2
            if slope * i + first <= second:
                out[1, i] += 1
            if first - slope * i > second:
                out[2, i] += 1

    return kernel


def equal(slope, other):
    def kernel(out, first, second, n):
        i = cuda.grid(1)
        if i < n:
            if slope * i + first == other * i + second:
                out[0, i] += 1
            else:
                out[0, i] += 2
            if second - i != slope * i:
                out[1, i] += 1
            if first - slope * i >= second:
                out[2, i] += 1

    return kernel


_KERNELS = {
    (kind.__name__, *slopes): kind(*slopes) for kind in (ordered, equal) for slopes in ((1, 0), (-3, 2), (5, 5))
}


@pytest.mark.some(3)
@pytest.mark.parametrize("which", _KERNELS, ids=str)
def test_conditions_that_change_somewhere_in_a_row(run, which):
    random, kernel = np.random.default_rng(7), _KERNELS[which]
    for block in (1, 3, 32, 200):
        for first, second in random.integers(-220, 220, (12, 2)).tolist():
            ours, expected = np.zeros((2, 3, 200), np.int64)
            grid = -(-200 // block)
            assert run(kernel, grid, block, ours, first, second, 197) is None
            all_at_once(which, expected, first, second)
            np.testing.assert_array_equal(ours, expected, f"{block} {first} {second}")


def all_at_once(which, out, first, second):
    """Do what the kernel does for all of its threads at once."""
    i = np.arange(197)
    kind, slope, other = which
    place, limit = slope * i + first, other * i + second
    if kind == "ordered":
        out[:, :197] = np.where(place < limit, 1, 2), place <= second, first - slope * i > second
    else:
        out[:, :197] = np.where(place == limit, 1, 2), second - i != slope * i, first - slope * i >= second


def narrow(out, first, n):
    t = cuda.grid(1)
    if t < out.size:
        if np.int32(t + first) < n:
            out[t] += 1
        else:
            out[t] += 2


def unsigned(out, first, n):
    t = cuda.grid(1)
    if t < out.size:
        if np.uint64(t + first) < np.uint64(n):
            out[t] += 1
        else:
            out[t] += 2


def wide(out, first, n):
    t = cuda.grid(1)
    if t < out.size:
        if t + first < n:
            out[t] += 1
        else:
            out[t] += 2


def far_apart(out, first, n):
    t = cuda.grid(1)
    if t < out.size:
        if n - t > first:
            out[t] += 1
        else:
            out[t] += 2


_EDGES = (0, -5, 100, 2**31 - 100, -(2**31), 2**61, -(2**61) + 7, 2**62, 2**63 - 100, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("kernel", [narrow, unsigned, wide, far_apart], ids=lambda kernel: kernel.__name__)
def test_places_and_limits_near_any_edge_are_compared_as_they_are(run, kernel):
    t = np.arange(300)
    for first in _EDGES:
        for n in _EDGES:
            out = np.zeros(300, np.int8)
            assert run(kernel, 5, 64, out, first, n) is None
            with np.errstate(over="ignore"):
                place, limit = t + np.int64(first), np.int64(n)
                less = {
                    narrow: place.astype(np.int32) < limit,
                    unsigned: place.astype(np.uint64) < limit.astype(np.uint64),
                    wide: place < limit,
                    far_apart: limit - t > np.int64(first),
                }[kernel]
            np.testing.assert_array_equal(out, np.where(less, 1, 2), f"{first} {n}")


def sides(x, out, n):
    i = cuda.grid(1)
    if i < n:
        if i == 0:
            out[i] = x[i + 1]
        elif i == n - 1:
            out[i] = -x[i - 1]
        elif i < n // 3:
            out[i] = x[i + 1] - x[i - 1]
        else:
            out[i] = x[i + 1] + x[i - 1]


def triangle(x, out, n):
    j, i = cuda.grid(2)
    if i < n and j < n:
        if j <= i:
            out[i * n + j] = x[i] + j
        if i + j > n:
            out[i * n + j] += 100 * x[j]


def columns(x, out, n):
    i, j = cuda.grid(2)
    if i < n and j < n:
        if j >= i:
            out[i * n + j] = x[i] + j
        elif j == i - 2:
            out[i * n + j] += 100 * x[j]


def bands(x, out, n):
    j, i = cuda.grid(2)
    if i < n and j < n:
        if j < 3:
            out[i * n + j] = x[i] - j
        elif j >= n - 2:
            out[i * n + j] = x[j] + 1000 * cuda.threadIdx.y
        if i > 0 and 0 < j < n - 1:
            out[i * n + j] += 7 * x[i + j]


def boxes(x, out, n):
    k, j, i = cuda.grid(3)
    if i < n and j < n and k < n:
        place = (i * n + j) * n + k
        if k == 1 or k == n - 1:
            out[place] = x[i] + 10 * cuda.threadIdx.z
        elif k < j:
            out[place] = -x[k]


def in_turns(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i < n // 2:
            out[i] = x[i]
        else:
            out[i] = -x[i]


@pytest.mark.some(3)
@pytest.mark.parametrize("kernel", [sides, triangle, columns, bands, in_turns], ids=lambda kernel: kernel.__name__)
def test_each_part_of_an_array_does_its_own(run, kernel):
    x = np.random.default_rng(1).integers(1, 50, 400)
    plane = kernel in (triangle, columns, bands)
    for n in (1, 2, 7, 20) if plane else (2, 3, 31, 64, 399):
        for block in ((8, 2), (3, 5), (20, 20)) if plane else (1, 5, 32, 256):
            grid = (-(-n // block[0]), -(-n // block[1])) if plane else -(-n // block)
            ours, expected = np.zeros((2, 400), np.int64)
            assert run(kernel, grid, block, x, ours, n) is None
            run_in_python(kernel, grid, block, x, expected, n)
            np.testing.assert_array_equal(ours, expected, f"{n} {block}")


@pytest.mark.parametrize("block", [(4, 2, 3), (1, 5, 2), (7, 7, 7)])
def test_rows_in_planes_have_the_same_parts(run, block):
    x = np.random.default_rng(2).integers(1, 50, 7)
    for n in (2, 4, 7):
        grid = tuple(-(-n // size) for size in block)
        ours, expected = np.zeros((2, 343), np.int64)
        assert run(boxes, grid, block, x, ours, n) is None
        run_in_python(boxes, grid, block, x, expected, n)
        np.testing.assert_array_equal(ours, expected, f"{n}")


def wide_borders(x, out, n):
    tile = cuda.shared.array(70, np.int64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < n:
        tile[t + 3] = x[i]
    if t < 3:
        tile[t] = x[i - 3] if i >= 3 else -1
        tile[t + cuda.blockDim.x + 3] = x[i + cuda.blockDim.x] if i + cuda.blockDim.x < n else -2
    cuda.syncthreads()
    if i < n:
        out[i] = tile[t] + 3 * tile[t + 3] + 5 * tile[t + 6]


@pytest.mark.parametrize("block", [3, 4, 33, 64])
def test_borders_of_several_threads_are_filled(run, block):
    blocks = 4
    n = blocks * block
    x = np.random.default_rng(block).integers(0, 99, n)
    out = np.zeros(n, np.int64)
    assert run(wide_borders, blocks, block, x, out, n) is None
    padded = np.concatenate([np.full(3, -1), x, np.full(3, -2)])
    np.testing.assert_array_equal(out, padded[:-6] + 3 * x + 5 * padded[6:])


def halves(x, out):
    tile = cuda.shared.array(256, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t < 1:
        out[cuda.blockIdx.x] = tile[t]
    cuda.syncthreads()
    if t >= 200:
        tile[t] = 10 * t
    if t > 253 or t == 7:
        cuda.atomic.add(out, cuda.blockIdx.x, tile[t])


def test_fewer_threads_of_a_block_add_each_time(run):
    x = np.random.default_rng(2).integers(0, 99, 1024)
    out = np.zeros(4, np.int64)
    assert run(halves, 4, 256, x, out, threads=1) is None
    seventh = x.reshape(4, 256)[:, 7::8].sum(axis=1)
    np.testing.assert_array_equal(out, x.reshape(4, 256).sum(axis=1) + 2540 + 2550 + seventh)


def some_raise(x, n):
    i = cuda.grid(1)
    if i < n:
        if i > n - 3:
            raise ValueError("behind")
        x[i] += 1


def test_a_thread_of_a_part_that_raises_is_named(run):
    status = run(some_raise, 1, 64, np.zeros(64, np.int64), 50)
    assert status.thread == (48, 0, 0)
