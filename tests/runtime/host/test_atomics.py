"""Atomic operations lose nothing, also when two threads of the host run blocks at the same time."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()


def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@pytest.mark.some(2)
@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.float64])
def test_a_histogram_counts_every_element(run, dtype):
    x = np.random.default_rng(1).integers(0, 4, 200_000)
    bins = np.zeros(4, dtype)
    run(histogram, -(-x.size // 128), 128, x, bins)
    assert np.array_equal(bins, np.bincount(x))


def extremes(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.min(out, 1, x[i])
        cuda.atomic.sub(out, 2, x[i])


@pytest.mark.some(1)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_max_min_and_sub(run, dtype):
    x = np.random.default_rng(2).integers(-500, 500, 5000).astype(dtype)
    out = np.zeros(3, dtype)
    run(extremes, 50, 128, x, out)
    assert out.tolist() == [x.max(), x.min(), -x.sum()]


def nan_extremes(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.nanmax(out, 1, x[i])
        cuda.atomic.nanmin(out, 2, x[i])


def test_a_nan_stays_for_max_and_goes_for_nanmax(run):
    x = np.array([1.0, np.nan, 5.0, -2.0])
    out = np.full(3, np.nan)
    run(nan_extremes, 1, 4, x, out)
    assert np.isnan(out[0])
    assert out[1:].tolist() == [5.0, -2.0]


def bitwise(x, out):
    i = cuda.grid(1)
    cuda.atomic.and_(out, 0, x[i])
    cuda.atomic.or_(out, 1, x[i])
    cuda.atomic.xor(out, 2, x[i])
    cuda.atomic.inc(out, 3, np.uint32(9))
    cuda.atomic.dec(out, 4, np.uint32(6))
    cuda.atomic.exch(out, 5, np.uint32(77))


def test_bitwise_and_wrapping_operations(run):
    x = np.random.default_rng(3).integers(0, 2**32, 64, dtype=np.uint32)
    out = np.array([2**32 - 1, 0, 0, 0, 3, 0], np.uint32)
    run(bitwise, 2, 32, x, out)
    dec = 3
    for _ in range(64):
        dec = 6 if dec == 0 or dec > 6 else dec - 1
    expected = [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x), 64 % 10, dec, 77]
    assert out.tolist() == [int(value) for value in expected]


def take_ticket(tickets, old):
    i = cuda.grid(1)
    while True:
        seen = old[0]
        if cuda.atomic.cas(old, 0, seen, seen + 1) == seen:
            break
    tickets[i] = seen


def test_compare_and_swap_gives_each_thread_its_own_ticket(run):
    tickets = np.zeros(4096, np.int64)
    old = np.zeros(1, np.int64)
    run(take_ticket, 64, 64, tickets, old)
    assert sorted(tickets) == list(range(4096))


def shared_count(x, out):
    count = cuda.shared.array(4, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 4:
        count[t] = 0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(count, x[i], 1)
    cuda.syncthreads()
    if t < 4:
        cuda.atomic.add(out, t, count[t])
    cuda.threadfence()


def test_shared_memory_counts_are_added_up(run):
    x = np.random.default_rng(4).integers(0, 4, 20_000)
    out = np.zeros(4, np.int64)
    run(shared_count, -(-x.size // 96), 96, x, out)
    assert np.array_equal(out, np.bincount(x))


def shared_tickets(x, out):
    counts = cuda.shared.array(2, np.int32)
    t = cuda.threadIdx.x
    if t < 2:
        counts[t] = 0
    cuda.syncthreads()
    out[t] = cuda.atomic.add(counts, x[t], 1)
    cuda.syncthreads()
    out[t] += 1000 * cuda.atomic.exch(counts, 0, t) + 1000000 * cuda.atomic.cas(counts, 1, t, t + 1)


def test_each_thread_gets_its_own_old_value_of_shared_memory(run):
    x = (np.arange(256) % 3 == 0).astype(np.int32)
    out = np.zeros(256, np.int64)
    run(shared_tickets, 1, 256, x, out)
    for one in (0, 1):
        assert sorted(out[x == one] % 1000) == list(range(int((x == one).sum())))
    # Each took what the thread before it left; nobody took what the last one left.
    assert len(set(range(256)) - set(out // 1000 % 1000)) == 1
    assert (out // 1000000 >= 86).all()
