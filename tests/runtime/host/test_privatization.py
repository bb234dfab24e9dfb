"""What blocks add to arrays in copies of their own arrives in the arrays, and never takes the place of what is read."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()
BLOCKS, BLOCK = 300, 64


def shared_counts(x, bins):
    counts = cuda.shared.array(64, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    counts[t] = 0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, t, counts[t])


def each_operation(x, sums, most, least, both, some, odd):
    i = cuda.grid(1)
    if i < x.size:
        at = i % sums.size
        cuda.atomic.add(sums, at, x[i])
        cuda.atomic.sub(sums, at, 3)
        cuda.atomic.max(most, at, x[i])
        cuda.atomic.min(least, at, x[i])
        cuda.atomic.and_(both, at, x[i])
        cuda.atomic.or_(some, at, x[i])
        cuda.atomic.xor(odd, at, x[i])


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_blocks_that_add_their_counts_lose_none(run, threads):
    x = np.random.default_rng(threads).integers(0, BLOCK, BLOCKS * BLOCK - 7).astype(np.uint8)
    bins = np.arange(BLOCK, dtype=np.int32)
    for _ in range(3):
        run(shared_counts, BLOCKS, BLOCK, x, bins, threads=threads)
    assert np.array_equal(bins, np.arange(BLOCK) + 3 * np.bincount(x, minlength=BLOCK))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_every_operation_has_the_value_that_any_order_of_it_leaves(run, dtype):
    random, info = np.random.default_rng(5), np.iinfo(dtype)
    x = random.integers(info.min, info.max, BLOCKS * BLOCK, dtype, endpoint=True)
    arrays = random.integers(info.min, info.max, (6, 5), dtype, endpoint=True)
    expected = arrays.copy()
    for item in range(5):
        own = x[item::5]
        with np.errstate(over="ignore"):
            expected[0, item] += own.sum(dtype=dtype) - dtype(3 * own.size)
        for row, operation in enumerate((np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor), 1):
            expected[row, item] = operation.reduce([*own, arrays[row, item]])
    run(each_operation, BLOCKS, BLOCK, x, *arrays)
    assert np.array_equal(arrays, expected)


def counts_what_it_reads(read, counted, out):
    i = cuda.grid(1)
    cuda.atomic.add(counted, 0, 1)
    out[i] = read[0]


def test_an_array_that_is_read_by_another_name_shows_what_was_added(run):
    words, out = np.zeros(4, np.int32), np.zeros(BLOCKS * BLOCK, np.int32)
    run(counts_what_it_reads, BLOCKS, BLOCK, words, words, out, threads=1)
    assert np.array_equal(out, np.arange(1, out.size + 1))


@pytest.mark.parametrize("where", ["from below", "from above", "reversed"])
def test_an_array_that_another_one_reaches_into_shows_what_was_added(run, where):
    words, out = np.zeros(64, np.int32), np.zeros(BLOCKS * BLOCK, np.int32)
    read, counted = {
        "from below": (words[:40], words[39:]),
        "from above": (words[8:], words[:9]),
        "reversed": (words[10::-2], words[:3]),
    }[where]
    item = {"from below": 39, "from above": 0, "reversed": 5}[where]
    run(counts_at, BLOCKS, BLOCK, read, counted, item, 8 if where == "from above" else 0, out, threads=1)
    assert np.array_equal(out, np.arange(1, out.size + 1))


def counts_at(read, counted, item, at, out):
    i = cuda.grid(1)
    cuda.atomic.add(counted, at, 1)
    out[i] = read[item]


def adds_and_raises_the_least(sums, most, x):
    i = cuda.grid(1)
    cuda.atomic.add(sums, 0, 1)
    cuda.atomic.max(most, 0, x[i])


def test_one_array_that_is_added_to_and_raised_has_both_in_turns(run):
    words, x = np.zeros(1, np.int64), np.zeros(BLOCKS * BLOCK, np.int64)
    x[100] = 1000
    run(adds_and_raises_the_least, BLOCKS, BLOCK, words, words, x, threads=1)
    assert words[0] == 1000 + x.size - 101


def counts_far_apart(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


@pytest.mark.parametrize("items", [1, 16_384, 16_385, 100_000])
def test_arrays_of_any_size_count_all(run, items):
    x = np.random.default_rng(3).integers(0, items, 100_000)
    bins = np.zeros(items, np.int32)
    run(counts_far_apart, -(-x.size // 256), 256, x, bins)
    assert np.array_equal(bins, np.bincount(x, minlength=items))


def counts_then_fails(x, bins):
    i = cuda.grid(1)
    cuda.atomic.add(bins, 0, 1)
    if x[i] < 0:
        raise ValueError("negative")


def test_what_was_added_before_a_block_raised_stays(run):
    x, bins = np.ones(BLOCKS * BLOCK, np.int32), np.zeros(1, np.int32)
    x[-1] = -1
    status = run(counts_then_fails, BLOCKS, BLOCK, x, bins, threads=1)
    assert status.block == (BLOCKS - 1, 0, 0)
    assert bins[0] == x.size


def counts_rows(x, bins):
    i = cuda.grid(1)
    if i < x.shape[0]:
        cuda.atomic.add(bins, (x[i, 0], x[i, 1] - 3), 1)


@pytest.mark.parametrize("order", ["C", "F", "every second column"])
def test_arrays_of_two_dimensions_and_any_strides_count_all(run, order):
    x = np.random.default_rng(4).integers(0, 3, (20_000, 4))[:, ::2]
    whole = np.zeros((3, 6), np.int64)
    bins = {"C": np.zeros((3, 3), np.int64), "F": np.zeros((3, 3), np.int64, "F")}.get(order, whole[:, ::2])
    run(counts_rows, -(-len(x) // 128), 128, x, bins)
    expected = np.zeros((3, 3), np.int64)
    np.add.at(expected, (x[:, 0], x[:, 1]), 1)
    assert np.array_equal(bins, expected)
    assert whole[:, 1::2].sum() == 0
