"""Loops that step by the size of a block, in kernels with barriers: all threads take their turns together, unseen."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.kernels import again_by_thread, again_by_warp

cuda = numba_cuda()

BLOCKS = 3
MOST = 200


def from_and_to_a_place_further(x, out, n, live):
    """The row's inner part: places begin one further than the threads, and end one earlier than the row."""
    row = cuda.shared.array(MOST, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t >= live:
        return
    for i in range(t, n, cuda.blockDim.x):
        row[i] = 2 * x[b, i]
    cuda.syncthreads()
    for i in range(t + 1, n - 1, cuda.blockDim.x):
        out[b, i] += row[i] + row[i - t - 1]


def by_hand_with_sums(x, out, n, live):
    sums, most = cuda.shared.array(64, np.float64), cuda.shared.array(64, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t < live:
        total, largest, i = 0.0, -1.0, t
        while i < n - 1:
            total += x[b, i]
            largest = x[b, i] if x[b, i] > largest else largest
            i += cuda.blockDim.x
        sums[t], most[t] = total, largest
        cuda.syncthreads()
        out[b, t] = sums[t] + 10 * sums[0] + 100 * most[t]


def every_third_returned(x, out, n, live):
    row = cuda.shared.array(MOST, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t % 3 == 2 or t >= live:
        return
    for i in range(t, n, cuda.blockDim.x):
        row[i] = x[b, i]
    cuda.syncthreads()
    for i in range(t, n, cuda.blockDim.x):
        out[b, i] = row[i] + row[i - t]


def to_ends_of_their_own(x, out, n, live):
    row = cuda.shared.array(MOST, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if t >= live:
        return
    for i in range(t, n, cuda.blockDim.x):
        row[i] = x[b, i]
    cuda.syncthreads()
    for i in range(t, n - t, cuda.blockDim.x):
        out[b, i] = row[i] + row[i - t]


def returned_between_loops(x, out, n, live):
    row = cuda.shared.array(MOST, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    for i in range(t, n, cuda.blockDim.x):
        row[i] = x[b, i]
    cuda.syncthreads()
    if t >= live:
        return
    for i in range(t, n, cuda.blockDim.x):
        out[b, i] = row[i] + row[n - 1 - i]


def one_thread_at_the_end(x, out, n, live):
    row = cuda.shared.array(MOST, np.float64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    for i in range(t, n, cuda.blockDim.x):
        row[i] = x[b, i]
    cuda.syncthreads()
    if t == live - 1:
        for i in range(0, n, cuda.blockDim.x):
            out[b, i] = row[i]


def expected(kernel, x, n, live, block):
    """Return what a kernel leaves in out, written down once more, thread by thread."""
    out = np.zeros_like(x)
    for b in range(BLOCKS):
        for t in range(block):
            if kernel is one_thread_at_the_end:
                if t == live - 1:
                    out[b, 0 : max(n, 0) : block] = x[b, 0 : max(n, 0) : block]
            elif t >= live or (kernel is every_third_returned and t % 3 == 2):
                continue
            elif kernel is from_and_to_a_place_further:
                for i in range(t + 1, n - 1, block):
                    out[b, i] = 2 * x[b, i] + 2 * x[b, i - t - 1]
            elif kernel is by_hand_with_sums:
                mine = x[b, t : max(n - 1, 0) : block]
                first = x[b, 0 : max(n - 1, 0) : block].sum()
                out[b, t] = mine.sum() + 10 * first + 100 * max([-1.0, *mine])
            elif kernel is returned_between_loops:
                for i in range(t, n, block):
                    out[b, i] = x[b, i] + x[b, n - 1 - i]
            else:
                for i in range(t, n - t if kernel is to_ends_of_their_own else n, block):
                    out[b, i] = x[b, i] + x[b, i - t]
    return out


KERNELS = (
    from_and_to_a_place_further, by_hand_with_sums, every_third_returned, to_ends_of_their_own,
    returned_between_loops, one_thread_at_the_end,
)  # fmt: skip


@pytest.mark.each_value_once
@pytest.mark.parametrize("integer", [int, np.int32])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_threads_of_a_block_do_what_they_do_one_by_one(run, kernel, integer):
    x = np.random.default_rng(6).random((BLOCKS, MOST))
    for block in (1, 19, 32, 64):
        for live in {block, 1, max(block // 2, 1)}:
            for n in (-3, 0, 1, 2, 31, 130, MOST):
                if kernel is from_and_to_a_place_further and live < block:
                    continue  # items that nobody staged would be read
                out = np.zeros_like(x)
                assert run(kernel, BLOCKS, block, x, out, integer(n), integer(live)) is None
                np.testing.assert_allclose(out, expected(kernel, x, n, live, block), err_msg=f"{block} {live} {n}")


@pytest.mark.parametrize("items", [64, 65, 200])
@pytest.mark.parametrize(
    ("kernel", "times"), [(again_by_thread, lambda i: i % 5 + 2), (again_by_warp, lambda i: i // 32 + 1)]
)
def test_loops_that_threads_begin_again_unequally_often_are_each_threads_own(kernel, times, items):
    x, out, expected = np.arange(float(items)), np.zeros(64), np.zeros(64)
    gridjit.jit(kernel, target="host")[1, 64](x, out)
    for i in range(64):
        for j in [*range(i, items, 64)] * times(i):
            expected[i] = expected[i] * 0.5 + x[j]
    np.testing.assert_array_equal(out, expected)
