"""Whatever order the host runs threads in - blocks as one row, rows along y, turn by turn - results are CUDA's."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.runtime.host.oracle import run_in_python

cuda = numba_cuda()


def up_to(x, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] += x[i] + i


def from_and_to(x, out, n):
    i = cuda.grid(1)
    if i < 3 or i >= n:
        return
    out[i] += x[i]


def counted_down(x, out, n):
    i = cuda.grid(1)
    if n - i > 2:
        out[i] += x[i]


def only_one(x, out, n):
    if cuda.grid(1) == n // 2:
        out[0] += 1


def all_but_one(x, out, n):
    i = cuda.grid(1)
    if i != n // 2 and i < x.size:
        out[i] += 1


def all_but_the_first(x, out, n):
    i = cuda.grid(1)
    if i > 0 and i < x.size:
        out[i] += x[i - 1]


def every_other(x, out, n):
    i = cuda.grid(1)
    if i % 2 == 0 and i < n:
        out[i] += x[i]


def squares(x, out, n):
    i = cuda.grid(1)
    if i * i < n:
        out[i] += x[i]


def by_a_constant_size(x, out, n):
    i = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if i < n:
        out[i] += x[i]


def by_a_large_constant_size(x, out, n):
    i = (cuda.blockIdx.x * 1024 + cuda.threadIdx.x) % x.size
    if i < n:
        cuda.atomic.add(out, i, 1)


def threads_of_a_block(x, out, n):
    t = cuda.threadIdx.x
    if t < n // 4:
        out[t + cuda.blockDim.x * cuda.blockIdx.x] += t


def blocks(x, out, n):
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] += cuda.blockIdx.x


def mirrored(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x - cuda.threadIdx.x + cuda.blockDim.x - 1
    if i < n:
        out[i] += x[i]


def one_line(x, out, n):
    i = cuda.grid(1)
    if i < n and cuda.blockIdx.y == 0 and cuda.threadIdx.y == 0 and cuda.blockIdx.z + cuda.threadIdx.z == 0:
        out[i] += 1


def nested(x, out, n):
    i = cuda.grid(1)
    if i < n:
        if x[i] > 0.5:
            out[i] += 1
        else:
            for k in range(int(x[i] * 8)):
                out[i] += k


LINES = (
    up_to, from_and_to, counted_down, only_one, all_but_one, all_but_the_first, every_other, squares,
    by_a_constant_size, by_a_large_constant_size, threads_of_a_block, blocks, mirrored, one_line, nested,
)  # fmt: skip


def compared(run, kernel, grid, block, threads, arrays, *numbers):
    """Run kernel on the host and in Python on equal arrays, and compare all of them."""
    ours, expected = [array.copy() for array in arrays], [array.copy() for array in arrays]
    assert run(kernel, grid, block, *ours, *numbers, threads=threads) is None
    run_in_python(kernel, grid, block, *expected, *numbers)
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.some(5)
@pytest.mark.parametrize("kernel", LINES, ids=lambda kernel: kernel.__name__)
def test_threads_in_a_line_do_what_they_do_one_by_one(run, kernel):
    x = np.random.default_rng(3).random(4100)
    for grid, block in ((1, 1), (1, 32), (4, 32), (7, 19), (3, 256), (40, 5), (4, 1000)):
        for n in (0, 1, 2, 33, 128, 4000):
            compared(run, kernel, grid, block, 1 + n % 2, (x, np.zeros(x.size)), n)


def behind_two_returns(x, out, n):
    i = cuda.grid(1)
    if n < 2:
        return
    if i >= n or i >= x.size:
        return
    out[i] += x[i]


def inside_of_three(x, out, n):
    i = cuda.grid(1)
    b = cuda.blockIdx.x
    if b + 0 < 1 or b > n - 2 or i < 3 or i > x.size - 2:
        return
    out[i] += x[i]


def by_fives(x, out, n):
    t = cuda.grid(1)
    i = int(t / 5) + 1
    m = int(t % 5)
    if n < 2 or i > n or 5 * i + m >= x.size:
        return
    out[5 * i + m] += i + m


def by_fours(x, out, n):
    i = cuda.grid(1)
    if i // 4 < n and i < x.size:
        out[i] += x[i]


def by_shifts(x, out, n):
    i = cuda.grid(1)
    if (i >> 3) + 1 < n and i < x.size:
        out[i] += x[i]


def by_thirds_down(x, out, n):
    i = cuda.grid(1)
    if int((n - i) / 3) > 2 and i < x.size:
        out[i] += x[i]


def by_a_part(x, out, n):
    i = cuda.grid(1)
    if int(i * 0.3) * 2 <= n and i < x.size:
        out[i] += x[i]


def by_blocks_of_blocks(x, out, n):
    i = cuda.grid(1)
    b = cuda.blockIdx.x % n
    c = int(cuda.blockIdx.x / n)
    if b + 1 < 2 or c > 2 or i >= x.size:
        return
    out[i] += b + 10 * c


def by_two_steps(x, out, n):
    i = cuda.grid(1)
    if int(i / 3) - int(i / 5) < n % 7 and i < x.size:
        out[i] += x[i]


def by_steps_on_both_sides(x, out, n):
    i = cuda.grid(1)
    if i // 3 * 5 <= i + n % 5 and i < x.size:
        out[i] += x[i]


def by_an_inverse(x, out, n):
    i = cuda.grid(1)
    if int(100.0 / (i - 7.5)) < n % 5 and i < x.size:
        out[i] += x[i]


def behind_every_third(x, out, n):
    i = cuda.grid(1)
    if i % 3 == 1:
        return
    if i >= n or i >= x.size:
        return
    out[i] += x[i]


def before_every_third(x, out, n):
    i = cuda.grid(1)
    if i >= n or i >= x.size:
        return
    if i % 3 == 1:
        return
    out[i] += x[i]


def with_an_array_of_its_own(x, out, n):
    i = cuda.grid(1)
    if n < 2 or i >= n or i >= x.size:
        return
    own = cuda.local.array(4, "float64")
    for k in range(4):
        own[k] = x[(i + k) % x.size]
    for k in range(int(4 * x[i])):
        out[i] += own[k]


GUARDS = (
    behind_two_returns, inside_of_three, by_fives, by_fours, by_shifts, by_thirds_down, by_a_part, by_blocks_of_blocks,
    by_two_steps, by_steps_on_both_sides, by_an_inverse, behind_every_third, before_every_third,
    with_an_array_of_its_own,
)  # fmt: skip


@pytest.mark.some(5)
@pytest.mark.parametrize("kernel", GUARDS, ids=lambda kernel: kernel.__name__)
def test_threads_behind_conditions_in_a_row_do_what_they_do_one_by_one(run, kernel):
    x = np.random.default_rng(6).random(1100)
    for grid, block in ((1, 1), (4, 32), (7, 19), (40, 5), (2, 1000)):
        for n in (1, 2, 6, 33, 500):
            compared(run, kernel, grid, block, 1 + n % 2, (x, np.zeros(x.size)), n)


def before_a_barrier(x, out, n):
    i = cuda.grid(1)
    if cuda.blockIdx.x > n or int(i / 5) >= n or i >= x.size:
        return
    out[i] += x[i]
    cuda.syncthreads()
    out[i] *= 2


def test_threads_behind_conditions_in_a_row_meet_at_barriers(run):
    x = np.random.default_rng(7).random(1100)
    for grid, block in ((4, 32), (7, 19), (2, 1000)):
        for n in (0, 1, 6, 33, 500):
            out = np.zeros(x.size)
            assert run(before_a_barrier, grid, block, x, out, n) is None
            reached = min(5 * n, block * min(n + 1, grid), x.size)
            np.testing.assert_array_equal(out, np.where(np.arange(x.size) < reached, 2 * x, 0))


def plane(x, out, n):
    j, i = cuda.grid(2)
    if i < n and j < out.shape[1]:
        out[i, j] += x[i, j]


def inner_plane(x, out, n):
    j, i = cuda.grid(2)
    if 0 < i < n - 1 and 0 < j < out.shape[1] - 1:
        out[i, j] += x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]


def inner_plane_by_rows(x, out, n):
    i, j = cuda.grid(2)
    if 0 < i < n - 1 and 0 < j < out.shape[1] - 1:
        out[i, j] += x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]


def triangle(x, out, n):
    i, j = cuda.grid(2)
    if i < n and j <= i and j < out.shape[1]:
        out[i, j] += x[j, i]


def product_of_places(x, out, n):
    j, i = cuda.grid(2)
    if i * j < n and i < out.shape[0] and j < out.shape[1]:
        out[i, j] += 1


def volume(x, out, n):
    i, j, k = cuda.grid(3)
    if i < n and j < out.shape[1] and k < 3:
        cuda.atomic.add(out, (i, j), k + 1)


def rows_of_blocks(x, out, n):
    i, j = cuda.grid(2)
    if i < n and j < out.shape[1]:
        out[i, j] += cuda.blockIdx.x + 100 * cuda.threadIdx.x


PLANES = (plane, inner_plane, inner_plane_by_rows, triangle, product_of_places, volume, rows_of_blocks)
SHAPES = (((1, 1), (1, 1)), ((3, 2), (7, 5)), ((2, 2, 2), (16, 16, 2)), ((1, 5), (40, 8)), ((6, 1), (8, 40)))


@pytest.mark.some(3)
@pytest.mark.parametrize("kernel", PLANES, ids=lambda kernel: kernel.__name__)
def test_threads_in_a_plane_do_what_they_do_one_by_one(run, kernel):
    x = np.random.default_rng(4).random((40, 40))
    for grid, block in SHAPES:
        for n in (0, 1, 29, 40):
            compared(run, kernel, grid, block, 1 + n % 2, (x, np.zeros((40, 40))), n)


def strides(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] += 2 * x[i]


def strides_by_hand(x, out, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < n:
        out[i] += 2 * x[i]
        i += cuda.gridDim.x * cuda.blockDim.x


def strides_from_an_offset(x, out, n):
    i = cuda.grid(1) + 3
    while i <= n - 2:
        out[i] += x[i - 3] + x[i + 1]
        i += cuda.gridsize(1)


def strides_that_overlap(x, out, n):
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(out, i, i)
        i += 2


def strides_with_branches(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > 0.5:
            continue
        for k in range(int(4 * x[i])):
            out[i] += k


def strides_that_read_ahead(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i + cuda.gridsize(1) < n:
            out[i] = 3 * out[i + cuda.gridsize(1)] + i
        else:
            out[i] = i


def strides_that_carry(x, out, n):
    before = 1.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = before
        before = x[i]


def strides_that_stop(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > 0.9:
            break
        out[i] = x[i]


def strides_that_return(x, out, n):
    i = cuda.grid(1)
    while i < n:
        if x[i] > 0.9:
            return
        out[i] = x[i]
        i += cuda.gridsize(1)


def strides_with_an_end(x, out, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] += x[i]
    cuda.atomic.add(out, 0, 1)


def strides_with_a_start(x, out, n):
    cuda.atomic.add(out, 0, 1)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(out, i, x[i])


def strides_with_a_read(x, out, n):
    limit = out[0]
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if i > 0:
            out[i] = limit


def strides_whose_end_moves(x, out, n):
    i = cuda.grid(1)
    while i < n:
        cuda.atomic.add(out, i, 1)
        i += cuda.gridsize(1)
        n -= 1


def strides_that_grow(x, out, n):
    i, step = cuda.grid(1), cuda.gridsize(1)
    while i < n:
        cuda.atomic.add(out, i, 1)
        i += step
        step += 1


def strides_backwards(x, out, n):
    i = n - 1 - cuda.grid(1)
    while i >= 0:
        out[i] += x[i]
        i -= cuda.gridsize(1)


STRIDES = (
    strides, strides_by_hand, strides_from_an_offset, strides_that_overlap, strides_with_branches,
    strides_that_read_ahead, strides_that_carry, strides_that_stop, strides_that_return, strides_with_an_end,
    strides_with_a_start, strides_with_a_read, strides_whose_end_moves, strides_that_grow, strides_backwards,
)  # fmt: skip


@pytest.mark.some(5)
@pytest.mark.parametrize("kernel", STRIDES, ids=lambda kernel: kernel.__name__)
def test_grid_stride_loops_do_what_they_do_thread_by_thread(run, kernel):
    x = np.random.default_rng(5).random(1300)
    for grid, block in ((1, 1), (1, 32), (3, 19), (2, 256), (9, 300)):
        for n in (-5, 0, 1, 31, 640, 1299):
            compared(run, kernel, grid, block, 1 + n % 2, (x, np.zeros(x.size)), n)


def sums(x, out, n):
    total = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    cuda.atomic.add(out, 0, total)


def sums_by_hand(x, out, n):
    i = cuda.grid(1)
    total, count, most = 0.0, 0, -1.0
    while i < n:
        total += x[i]
        count += 1
        most = max(most, x[i])
        i += cuda.gridsize(1)
    cuda.atomic.add(out, cuda.grid(1), total + 100 * count + 1000 * most)


def sums_that_skip(x, out, n):
    total = 1.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > 0.5:
            continue
        for k in range(3):
            total += k * x[i]
    out[cuda.grid(1)] = total


def sums_twice(x, out, n):
    first, second = 0.0, 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        first += x[i]
    for i in range(cuda.threadIdx.x, n // 2, cuda.blockDim.x):
        second += first * x[i]
    out[cuda.grid(1)] = second


def sums_of_some_threads(x, out, n):
    total = 0.0
    if cuda.threadIdx.x % 3 == 1:
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            total += x[i]
    out[cuda.grid(1)] = total


def sums_unless_returned(x, out, n):
    if cuda.threadIdx.x == 2:
        return
    total = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    out[cuda.grid(1)] = total


def sums_and_the_place_after(x, out, n):
    i, total = cuda.grid(1), 0.0
    while i < n:
        total += x[i]
        i += cuda.gridsize(1)
    out[cuda.grid(1)] = total + i


def sums_of_sums(x, out, n):
    total = 0.0
    for row in range(3):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            total += x[i] * row
    out[cuda.grid(1)] = total


def sums_to_an_end_of_its_own(x, out, n):
    total = 0.0
    for i in range(cuda.grid(1), n - 7 * cuda.threadIdx.x, cuda.gridsize(1)):
        total += x[i]
    out[cuda.grid(1)] = total


def sums_with_a_start_of_its_own(x, out, n):
    total = 0.0
    for i in range(300 - cuda.threadIdx.x, n, cuda.blockDim.x):
        total += x[i]
    out[cuda.grid(1)] = total


def sums_with_a_break(x, out, n):
    total = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > 0.9:
            break
        total += x[i]
    out[cuda.grid(1)] = total


def two_chains(x, out, n):
    one, other = 1.0, 2.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        one, other = other, one + x[i]
    out[cuda.grid(1)] = one - other


SUMS = (
    sums, sums_by_hand, sums_that_skip, sums_twice, sums_of_some_threads, sums_unless_returned,
    sums_and_the_place_after, sums_of_sums, sums_to_an_end_of_its_own, sums_with_a_start_of_its_own,
    sums_with_a_break, two_chains,
)  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("kernel", SUMS, ids=lambda kernel: kernel.__name__)
def test_loops_that_carry_values_do_what_they_do_thread_by_thread(run, kernel):
    x = np.random.default_rng(6).random(1300)
    for grid, block in ((1, 1), (1, 32), (3, 19), (2, 256), (3, (9, 3))):
        for n in (-5, 0, 1, 31, 640, 1299):
            compared(run, kernel, grid, block, 1 + n % 2, (x, np.zeros(x.size)), n)


def shared_sums(x, out, n):
    tile = cuda.shared.array(256, np.float64)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    total = tile[cuda.blockDim.x - 1 - t]
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        total += x[i]
    cuda.syncthreads()
    tile[t] = total
    cuda.syncthreads()
    if t == 0:
        for k in range(cuda.blockDim.x):
            out[cuda.blockIdx.x] += tile[k]


def test_loops_between_barriers_may_carry_values(run):
    x = np.random.default_rng(7).random(5000)
    for grid, block in ((1, 1), (3, 19), (2, 256)):
        for n in (0, 1, 500, 5000):
            out = np.zeros(grid)
            assert run(shared_sums, grid, block, x, out, n) is None
            whose = np.arange(n) % (grid * block) // block
            expected = np.bincount(whose, x[:n], grid) + block * (block - 1) / 2
            np.testing.assert_allclose(out, expected)


@pytest.mark.parametrize("kernel", [up_to, strides, strides_by_hand])
def test_arrays_may_run_backwards_and_overlap(run, kernel):
    for threads in (1, 2):
        ours, expected = np.arange(3000.0), np.arange(3000.0)
        for view in (slice(2000, None, -2), slice(1000, 3000, 2)):
            assert run(kernel, 5, 64, ours[view], ours[view], 900, threads=threads) is None
            run_in_python(kernel, 5, 64, expected[view], expected[view], 900)
        np.testing.assert_array_equal(ours, expected)


def narrow_places(out, first, n):
    t = cuda.grid(1)
    if np.int32(t + first) < n:
        out[t] = 1


def unsigned_places(out, first, n):
    t = cuda.grid(1)
    if np.uint64(t - first) < np.uint64(n):
        out[t] = 1


def products_of_places(out, first, n):
    t = cuda.grid(1)
    if np.int32(t * first) < n:
        out[t] = 1


def wide_places(out, first, n):
    t = cuda.grid(1)
    if t + first < n:
        out[t] = 1


@pytest.mark.parametrize("first", [0, 5, 2**31 - 100, 2**31 - 1, -(2**31), 2**32 - 7, -9])
@pytest.mark.parametrize("n", [-(2**31), -50, 0, 60, 2**31 - 1])
def test_places_that_wrap_around_are_compared_as_they_are(run, first, n):
    t = np.arange(320)
    wrapped = {
        narrow_places: (t + first).astype(np.int32) < n,
        unsigned_places: (t - first).astype(np.uint64) < np.array(n).astype(np.uint64),
        products_of_places: (t * first).astype(np.int32) < n,
    }
    for kernel, expected in wrapped.items():
        out = np.zeros(320, np.int8)
        assert run(kernel, 5, 64, out, first, n) is None
        np.testing.assert_array_equal(out, expected, kernel.__name__)


@pytest.mark.parametrize("first", [2**63 - 100, -(2**63)])
@pytest.mark.parametrize("n", [-(2**63), -(2**63) + 50, 0, 2**63 - 1])
def test_places_may_wrap_around_in_64_bits(run, first, n):
    out = np.zeros(320, np.int8)
    assert run(wide_places, 5, 64, out, first, n) is None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, np.arange(320) + np.int64(first) < n)


def unsigned_strides(out, first, n):
    i = np.uint64(first) + np.uint64(cuda.grid(1))
    while i < np.uint64(n):
        cuda.atomic.add(out, np.int64(i) - first, 1)
        i += np.uint64(cuda.gridsize(1))


@pytest.mark.parametrize("n", [-(2**63) + 200, 2**63 - 20])
def test_strided_loops_beyond_the_largest_signed_place_take_all_their_turns(run, n):
    first = 2**63 - 100
    turns = (n - first) % 2**64
    for grid, block in ((1, 32), (3, 19), (2, 256)):
        out = np.zeros(500, np.int64)
        assert run(unsigned_strides, grid, block, out, first, n) is None
        np.testing.assert_array_equal(out, np.arange(500) < turns)


@pytest.mark.parametrize("below", [1, 5, 40])
def test_threads_whose_unsigned_place_is_below_zero_take_no_turn_of_a_loop(run, below):
    for grid, block in ((1, 32), (3, 19), (2, 256)):
        out = np.zeros(500, np.int64)
        assert run(unsigned_strides, grid, block, out, -below, 300) is None
        size = grid * block
        expected = [i < 300 + below and i % size >= below for i in range(500)]
        np.testing.assert_array_equal(out, expected)


def long_steps(out, first, n):
    i = np.uint64(first) + np.uint64(cuda.grid(1)) * np.uint64(2**59)
    while i < np.uint64(n):
        cuda.atomic.add(out, cuda.grid(1), 1)
        i += np.uint64(3 * 2**60)


def test_a_place_that_has_wrapped_around_is_where_it_is(run):
    for n in (2**62, 2**63 - 1, -(2**63), -(2**62)):
        out, expected = np.zeros(32, np.int64), np.zeros(32, np.int64)
        assert run(long_steps, 2, 16, out, 5, n) is None
        for t in range(32):
            i = (5 + t * 2**59) % 2**64
            while i < n % 2**64:
                expected[t] += 1
                i = (i + 3 * 2**60) % 2**64
        np.testing.assert_array_equal(out, expected)


def signed_strides(out, first, n):
    i = first + cuda.grid(1)
    while i < n:
        cuda.atomic.add(out, i - first, 1)
        i += cuda.gridsize(1)


EDGES = st.sampled_from((0, 2**31, 2**32, 2**62, 2**63, -(2**31), -(2**63)))


@settings(suppress_health_check=list(HealthCheck))
@given(
    edge=EDGES,
    first=st.integers(-300, 300),
    turns=st.integers(-5, 700),
    grid=st.sampled_from((1, 2, 5)),
    block=st.sampled_from((1, 7, 32, 100)),
)
def test_strided_loops_begin_and_end_where_they_should_near_any_edge(run, edge, first, turns, grid, block):
    size = grid * block
    for kernel, low in ((signed_strides, -(2**63)), (unsigned_strides, 0)):
        begin = edge + first
        # Signed places that do not fit are nobody's program, and a loop up to the very end never ends.
        if not low + 1000 <= begin + turns < low + 2**64 - 2000 or not low <= begin < low + 2**64 - 2000:
            continue
        out = np.zeros(1500, np.int64)
        start, end = (int(np.array(value % 2**64, np.uint64).astype(np.int64)) for value in (begin, begin + turns))
        assert run(kernel, grid, block, out, start, end) is None
        np.testing.assert_array_equal(out, np.arange(1500) < turns, f"{kernel.__name__} {begin} {turns} {size}")
