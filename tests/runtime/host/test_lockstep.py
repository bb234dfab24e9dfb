"""Lanes of a warp that count on each other's accesses to shared memory without a barrier get what a GPU gives them."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import from_dtype

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.options import Options
from tests.runtime.host.step_programs import model, programs, source

cuda = numba_cuda()


def reversed_by_one_warp(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[31 - t]


def told_by_the_first_lane(x, out):
    told = cuda.shared.array(1, np.int64)
    t = cuda.threadIdx.x
    if t == 31:
        told[0] = x[t]
    out[t] = told[0] + t


def summed_by_one_warp(x, out):
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        tile[t] += tile[t + 32]
        tile[t] += tile[t + 16]
        tile[t] += tile[t + 8]
        tile[t] += tile[t + 4]
        tile[t] += tile[t + 2]
        tile[t] += tile[t + 1]
    cuda.syncthreads()
    out[t] = tile[0]


def scanned_by_one_warp(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    if t >= 1:
        tile[t] += tile[t - 1]
    if t >= 2:
        tile[t] += tile[t - 2]
    if t >= 4:
        tile[t] += tile[t - 4]
    if t >= 8:
        tile[t] += tile[t - 8]
    if t >= 16:
        tile[t] += tile[t - 16]
    out[t] = tile[t]


def reversed_as_complex_numbers(x, out):
    tile = cuda.shared.array(32, np.complex128)
    t = cuda.threadIdx.x
    tile[t] = complex(x[t], t)
    out[t] = int(tile[31 - t].real) + int(tile[31 - t].imag)


def shifted_as_records(x, out):
    tile = cuda.shared.array(33, wide)
    t = cuda.threadIdx.x
    tile[t].number = x[t]
    tile[32].number = 0
    out[t] = tile[t + 1].number


def transposed_row_by_row(x, out):
    tile = cuda.shared.array((32, 33), np.int64)
    t = cuda.threadIdx.x
    for row in range(32):
        tile[row, t] = x[t] * row
    total = 0
    for column in range(32):
        total += tile[t, column]
    out[t] = total


def summed_in_two_rows(x, out):
    rows = cuda.shared.array((2, 32), np.int64)
    t, row, by = cuda.threadIdx.x, 0, 1
    rows[0, t] = x[t]
    while by < 32:
        rows[1 - row, t] = rows[row, t]
        if t >= by:
            rows[1 - row, t] += rows[row, t - by]
        row, by = 1 - row, by * 2
    out[t] = rows[row, t]


def shifted_by_a_slice(x, out):
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    tile[t] = tile[t + 32] = x[t]
    out[t] = tile[cuda.blockDim.x // 16 :][t]


wide = from_dtype(np.dtype([("number", np.int64), ("more", np.int64, (7,))]))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("kernel", "threads", "expected"),
    [
        (reversed_as_complex_numbers, 32, lambda x: x[::-1] + np.arange(31, -1, -1)),
        (shifted_as_records, 32, lambda x: np.append(x[1:], 0)),
        (transposed_row_by_row, 32, lambda x: np.arange(32) * x.sum()),
        (summed_in_two_rows, 32, np.cumsum),
        (shifted_by_a_slice, 32, lambda x: np.roll(x, -2)),
        (reversed_by_one_warp, 32, lambda x: x[::-1]),
        (told_by_the_first_lane, 32, lambda x: x[31] + np.arange(32)),
        (summed_by_one_warp, 64, lambda x: np.full(64, x.sum())),
        (scanned_by_one_warp, 32, np.cumsum),
    ],
)
def test_lanes_read_what_others_of_their_warp_wrote_without_a_barrier(run, kernel, threads, expected):
    x = np.random.default_rng(0).integers(0, 1000, threads)
    out = np.zeros(threads, np.int64)
    assert run(kernel, 1, threads, x, out) is None
    assert out.tolist() == expected(x).tolist()


STATEMENTS = {
    "if lane >= 1: s[t] += s[t - 1]": lambda x, t, lane: np.where(lane >= 1, x + x[t - 1], x),
    "s[t] = s[t ^ 16] - s[t]": lambda x, t, lane: x[t ^ 16] - x,
    "s[t] += s[t - lane + (lane + 1) % 32]": lambda x, t, lane: x + x[t - lane + (lane + 1) % 32],
    "s[t] += s[t - lane]": lambda x, t, lane: x + x[t - lane],
    "s[t] += s[x[0] + 4]": lambda x, t, lane: x + x[x[0] + 4],
    "s[t] += s[t + (16 if lane < 16 else 0)]": lambda x, t, lane: x + np.where(lane < 16, x[(t + 16) % 64], x),
    "s[t] = s[t ^ 16] - (s if lane < 40 else x)[t]": lambda x, t, lane: x[t ^ 16] - x,
    "s[t] = 0; s[t ^ 1] = t": lambda x, t, lane: t ^ 1,
    "s[t] = 0; s[t ^ (x[0] + 15)] = t": lambda x, t, lane: t ^ 16,
    "cuda.atomic.add(s, t - lane, 1); s[t] += s[t - lane]": lambda x, t, lane: np.where(
        lane == 0, 2 * x + 64, x + x[t - lane] + 32
    ),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_reads_what_was_there_before_any_lane_wrote(run, statement):
    names = {"cuda": cuda, "np": np}
    text = ["s = cuda.shared.array(64, np.int64)", "t, lane = cuda.threadIdx.x, cuda.laneid", "s[t] = x[t]"]
    text += ["cuda.syncthreads()", statement, "cuda.syncthreads()", "out[t] = s[t]"]
    exec("def kernel(x, out):\n" + "".join(f"    {line}\n" for line in text), names)
    t = np.arange(64)
    x, out = t * 5 % 17 + 1, np.zeros(64, np.int64)
    assert run(names["kernel"], 1, 64, x, out) is None
    assert out.tolist() == STATEMENTS[statement](x, t, t % 32).tolist()


@settings(max_examples=settings().max_examples // 4, suppress_health_check=list(HealthCheck))
@given(program=programs, seed=st.integers(0, 9))
def test_programs_without_barriers_do_what_lanes_in_step_would(run, program, seed):
    names = {"cuda": cuda, "np": np}
    exec(source(program), names)
    x, out = np.random.default_rng(seed).integers(0, 100, 64), np.zeros(64, np.int64)
    assert run(names["kernel"], 1, 64, x, out) is None
    assert out.tolist() == model(program, x).tolist(), source(program)


def rows(x, n):
    """Change rows of a table by what lies beside them; the last two threads' rows are taken twice, in two turns."""
    tile = cuda.shared.array(0, np.float64)
    places = tile[cuda.blockDim.x * 2 :]
    t = cuda.threadIdx.x
    i = t
    while i < n:
        here = min(n - (i - t), cuda.blockDim.x)
        tile[t] = x[i - t + t // 2, t % 2]
        tile[t + here] = x[i - t + (t + here) // 2, (t + here) % 2]
        places[t] = i
        cuda.syncthreads()
        if t >= 1 and t < cuda.blockDim.x - 1 and i < n - 1:
            for k in range(2):
                tile[2 * t + k] += 0.5 * places[t + 1] + 0.25 * places[t - 1]
            if i == 2:
                for k in range(2):
                    tile[2 * t + k] *= 2.0
        x[i - t + t // 2, t % 2] = tile[t]
        x[i - t + (t + here) // 2, (t + here) % 2] = tile[t + here]
        i += cuda.blockDim.x - 2


def rows_in_step(x):
    """Return what rows gives where all lanes do one thing after the other."""
    out = x.copy()
    for i in range(1, len(x) - 1):
        out[i] += 0.5 * (i + 1) + 0.25 * (i - 1)
        out[i] *= 2.0 if i == 2 else 1.0
    return out


@pytest.mark.some(1)
@pytest.mark.parametrize("threads", [12, 19, 32])
def test_a_loop_whose_turns_end_without_a_barrier_gives_what_lanes_in_step_get(run, threads):
    x = np.random.default_rng(1).random((threads, 2))
    expected = rows_in_step(x)
    assert run(rows, 1, threads, x, threads, sharedmem=threads * 24) is None
    assert np.allclose(x, expected, rtol=1e-14)


def own_items(x, out):
    """Each thread has three items of its own, and no other looks at them."""
    mine = cuda.shared.array(96, np.int64)
    t = cuda.threadIdx.x
    for k in range(3):
        mine[3 * t + k] = x[t] + k
    if x[t] > 500:
        for k in range(3):
            mine[3 * t + k] *= 2
    cuda.syncthreads()
    out[t] = mine[3 * t] + mine[95 - 3 * t]


def tree(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[0] = tile[0]


def scan_with_barriers(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    by = 1
    while by < 32:
        before = 0
        if t >= by:
            before = tile[t - by]
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
        by *= 2
    out[t] = tile[t]


def halo(x, out):
    tile = cuda.shared.array(34, np.int64)
    t = cuda.threadIdx.x
    tile[t + 1] = x[t]
    if t == 0:
        tile[0] = tile[33] = 0
    cuda.syncthreads()
    out[t] = tile[t] + tile[t + 1] + tile[t + 2]


def product(x, out):
    left = cuda.shared.array((8, 8), np.int64)
    right = cuda.shared.array((8, 8), np.int64)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    total = 0
    for at in range(0, x.size // 8, 8):
        left[i, j] = x[(at + 8 * i + j) % x.size]
        right[i, j] = x[(at + 8 * j + i) % x.size]
        cuda.syncthreads()
        for k in range(8):
            total += left[i, k] * right[k, j]
        cuda.syncthreads()
    out[0] = total


def exchanged(x, out):
    tile = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    other = t ^ x[0]
    if other > t:
        tile[t], tile[other] = tile[other], tile[t]
    cuda.syncthreads()
    out[t] = tile[t]


def counted(x, out):
    bins = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for i in range(t, x.size, 32):
        cuda.atomic.add(bins, x[i] % 32, 1)
    cuda.syncthreads()
    cuda.atomic.add(out, t, bins[t])


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("kernel", "barriers"),
    [(own_items, 1), (tree, 2), (scan_with_barriers, 3), (halo, 1), (product, 2), (counted, 2), (exchanged, 3)],
)
def test_a_kernel_that_has_the_barriers_it_needs_waits_nowhere_else(compiled, kernel, barriers):
    x = np.arange(32)
    code = compiled(kernel, (x, np.zeros(32, np.int64)), Options())
    assert code.resources["barriers"] == barriers


def slices(x, out, n):
    tile = cuda.shared.array(128, np.int64)
    t = cuda.threadIdx.x
    mine = tile[n:]
    mine[t] = x[t]
    cuda.syncthreads()
    tile[n:][t] += mine[t ^ 1]
    cuda.syncthreads()
    out[t] = mine[t]


def test_slices_that_begin_at_one_place_are_one(run):
    x, out = np.arange(32), np.zeros(32, np.int64)
    assert run(slices, 1, 32, x, out, 16) is None
    assert out.tolist() == (x + (x ^ 1)).tolist()
