"""Loops whose turns end with a barrier: threads wait at the head, and what a turn begins with is compiled once."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()


def product(a, b, c):
    left = cuda.shared.array((8, 8), np.float32)
    right = cuda.shared.array((8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], 8):
        left[ty, tx] = a[i, start + tx] if i < a.shape[0] and start + tx < a.shape[1] else 0
        right[ty, tx] = b[start + ty, j] if j < b.shape[1] and start + ty < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(8):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(8, 8, 8), (24, 40, 16), (13, 21, 5), (3, 1, 30), (9, 0, 9)])
def test_a_product_by_tiles_is_right_for_any_number_of_turns(run, rows, inner, columns, threads):
    random = np.random.default_rng(1)
    a = random.random((rows, inner), dtype=np.float32)
    b = random.random((inner, columns), dtype=np.float32)
    c = np.full((rows, columns), -1, np.float32)
    run(product, (-(-columns // 8), -(-rows // 8)), (8, 8), a, b, c, threads=threads)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-6)


def by_turns(x, turns, out, most):
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    total = x[t] * x[t]
    for turn in range(turns):
        a = x[(t + turn) & 63] + turn
        b = x[(t + 2 * turn) & 63] - t
        c = x[(t + 3 * turn) & 63] * 3
        d = x[(t + 4 * turn) & 63] ^ t
        cuda.atomic.max(most, 0, a + b)
        cuda.atomic.exch(most, 1, turn)
        tile[t] = (a + 7 * b) ^ (c - 5 * d)
        cuda.syncthreads()
        total += tile[(t + 1) % cuda.blockDim.x]
        cuda.syncthreads()
    out[t] = total


def _by_turns(turns):
    return np.arange(3, 67) ** 2, np.int64(turns), np.zeros(64, np.int64), np.zeros(2, np.int64)


def test_what_a_turn_begins_with_is_compiled_once(shown):
    assert shown(by_turns, _by_turns(8)).count("\txchgq") == 1


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("turns", [0, 1, 5])
def test_counters_and_what_turns_hand_on_are_right(run, block, turns):
    x, _, out, most = values = _by_turns(turns)
    run(by_turns, 1, block, *values)
    t, highest = np.arange(block), 0
    total = x[t] * x[t]
    for turn in range(turns):
        a, b, c, d = (x[(t + many * turn) & 63] for many in (1, 2, 3, 4))
        a, b, c, d = a + turn, b - t, c * 3, d ^ t
        total = total + ((a + 7 * b) ^ (c - 5 * d))[(t + 1) % block]
        highest = max(highest, *(a + b))
    assert np.array_equal(out[:block], total)
    assert most.tolist() == [highest, max(0, turns - 1)]


def shifted(x, y):
    tile = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, x.size, 64):
        tile[t] = x[start + t]
        cuda.syncthreads()
        for k in range(8):
            total += tile[k]
        cuda.syncthreads()
    y[t] = total


def test_threads_side_by_side_read_side_by_side_in_each_turn(shown):
    code = shown(shifted, (np.zeros(640, np.float32), np.zeros(64, np.float32)))
    assert "gather" not in code


def from_the_end(x, y, start):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    total = 0
    while start < 4:
        tile[t] = x[start + t]
        cuda.syncthreads()
        total += tile[31 - t]
        cuda.syncthreads()
        start += 2
    y[t] = total


def test_counters_that_begin_below_zero_still_count_from_an_arrays_end(run):
    x, y = np.arange(64) ** 2, np.zeros(32, np.int64)
    run(from_the_end, 1, 32, x, y, np.int64(-40))
    t = np.arange(32)
    assert np.array_equal(y, sum(x[start + 31 - t] for start in range(-40, 4, 2)))


def backwards(x, y):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    total = 0
    for start in range(8, -41, -8):
        tile[t] = x[start + t]
        cuda.syncthreads()
        total += tile[31 - t]
        cuda.syncthreads()
    y[t] = total


def test_counters_that_fall_below_zero_count_from_an_arrays_end(run):
    x, y = np.arange(64) ** 2, np.zeros(32, np.int64)
    run(backwards, 1, 32, x, y)
    t = np.arange(32)
    assert np.array_equal(y, sum(x[start + 31 - t] for start in range(8, -41, -8)))


def scan(x, out, turns):
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    for turn in range(turns):
        before = tile[t - (1 << turn)] if t >= 1 << turn else 0
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
    out[t] = tile[t]


@pytest.mark.parametrize("block", [1, 2, 33, 64])
def test_barriers_before_a_loop_and_in_it_meet_at_its_head(run, block):
    x, out = np.arange(64) ** 2, np.zeros(64, np.int64)
    run(scan, 1, block, x, out, np.int64(6))
    assert np.array_equal(out[:block], np.cumsum(x[:block]))


def test_two_barriers_that_meet_at_a_head_are_one_cut(compiled):
    code = compiled(scan, (np.zeros(64, np.int64), np.zeros(64, np.int64), np.int64(6)))
    assert code.resources["barriers"] == 2


def some_enter(x, out, first):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    if t >= first:
        cuda.syncthreads()
        for turn in range(3):
            tile[t] = x[t] + turn
            cuda.syncthreads()
            out[t] += tile[t ^ 1]
            cuda.syncthreads()


def test_threads_that_do_not_enter_a_loop_with_barriers_end_without_it(run):
    x, out = np.arange(32), np.zeros(32, np.int64)
    run(some_enter, 1, 32, x, out, np.int64(8))
    t = np.arange(32)
    assert np.array_equal(out, np.where(t >= 8, 3 * (t ^ 1) + 3, 0))


def outer_and_inner(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    total = 0
    for outer in range(3):
        tile[t] = x[t] + outer
        cuda.syncthreads()
        for inner in range(outer):
            total += tile[(t + inner) % 32]
            cuda.syncthreads()
            tile[t] += total
            cuda.syncthreads()
        total -= outer
        cuda.syncthreads()
    out[t] = total


def test_loops_with_barriers_may_be_nested(run):
    x, out = np.arange(32) ** 2, np.zeros(32, np.int64)
    run(outer_and_inner, 1, 32, x, out)
    tile, total, t = np.zeros(32, np.int64), np.zeros(32, np.int64), np.arange(32)
    for outer in range(3):
        tile = x + outer
        for inner in range(outer):
            total = total + tile[(t + inner) % 32]
            tile = tile + total
        total = total - outer
    assert np.array_equal(out, total)
