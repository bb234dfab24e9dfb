"""Kernels with shared memory and cuda.syncthreads give NumPy's results, whatever the threads do between barriers."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def block_sum(x, out):
    shared = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    k = cuda.blockDim.x // 2
    while k > 0:
        if t < k:
            shared[t] += shared[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = shared[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "block"), [(1, 1), (1000, 64), (1024, 256), (77, 2), (5000, 128)])
def test_a_tree_reduction_with_a_barrier_in_its_loop_sums_each_block(run, n, block, threads):
    x = np.random.default_rng(1).random(n, dtype=np.float32)
    blocks = -(-n // block)
    out = np.zeros(blocks, np.float32)
    run(block_sum, blocks, block, x, out, threads=threads)
    padded = np.zeros(blocks * block)
    padded[:n] = x
    np.testing.assert_allclose(out, padded.reshape(blocks, block).sum(axis=1), rtol=1e-5)


def reverse(x):
    shared = cuda.shared.array(0, np.int32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.x
    shared[t] = x[start + t]
    cuda.syncthreads()
    x[start + t] = shared[shared.size - 1 - t]


def test_dynamic_shared_memory_has_the_size_of_the_launch(run):
    x = np.arange(96, dtype=np.int32)
    run(reverse, 3, 32, x, sharedmem=128)
    assert np.array_equal(x, np.arange(96).reshape(3, 32)[:, ::-1].ravel())


def several(x, out):
    bytes_ = cuda.shared.array(33, np.int8)
    doubles = cuda.shared.array((4, 8), np.float64)
    flags = cuda.shared.array(32, np.bool_)
    pairs = cuda.shared.array(32, np.complex64)
    rest = cuda.shared.array(0, np.int16)
    t = cuda.threadIdx.x
    bytes_[t] = x[t]
    doubles[t // 8, t % 8] = x[t] / 2
    flags[t] = x[t] > 16
    pairs[t] = x[t] * 1j
    rest[t] = x[t] * 3
    cuda.syncthreads()
    u = 31 - t
    out[t] = bytes_[u] + doubles[u // 8, u % 8] + flags[u] * 1000 + pairs[u].imag + rest[u]


def test_shared_arrays_of_several_types_do_not_overlap(run):
    x = np.arange(32, dtype=np.int64)
    out = np.zeros(32)
    run(several, 1, 32, x, out, sharedmem=64)
    expected = (x + x / 2 + (x > 16) * 1000 + x + x * 3)[::-1]
    np.testing.assert_allclose(out, expected)


def early(x, out):
    shared = cuda.shared.array(64, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= x.size:
        return
    shared[t] = x[i]
    cuda.syncthreads()
    left = shared[t - 1] if t > 0 else 0.0
    cuda.syncthreads()
    out[i] = left + shared[t]


@pytest.mark.parametrize("n", [1, 63, 64, 100])
def test_threads_that_returned_before_a_barrier_count_as_arrived(run, n):
    x = np.random.default_rng(2).random(n)
    out = np.zeros(n)
    run(early, 2, 64, x, out)
    left = np.concatenate([[0], x[:-1]])
    left[::64] = 0
    np.testing.assert_allclose(out, left + x)


@cuda.jit(device=True)
def exchange(shared, value):
    t = cuda.threadIdx.x
    cuda.syncthreads()
    shared[t] = value
    cuda.syncthreads()
    return shared[cuda.blockDim.x - 1 - t]


@cuda.jit(device=True)
def exchange_twice(shared, value):
    return exchange(shared, exchange(shared, value) * 2) + 1


def nested(x, out):
    shared = cuda.shared.array(48, np.float32)
    i = cuda.grid(1)
    kept = x[i] * 3
    out[i] = exchange_twice(shared, x[i]) + kept


def test_barriers_in_nested_device_functions_keep_what_their_callers_hold(run):
    x = np.random.default_rng(3).random(96, dtype=np.float32)
    out = np.zeros_like(x)
    run(nested, 2, 48, x, out)
    np.testing.assert_allclose(out, 2 * x + 1 + 3 * x, rtol=1e-6)


TILE = 8


def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), np.float64)
    sb = cuda.shared.array((TILE, TILE), np.float64)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = 0.0
    for start in range(0, a.shape[1], TILE):
        sa[ty, tx] = a[y, start + tx] if y < a.shape[0] and start + tx < a.shape[1] else 0
        sb[ty, tx] = b[start + ty, x] if x < b.shape[1] and start + ty < b.shape[0] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_a_tiled_matrix_product_matches_numpy(run):
    rng = np.random.default_rng(4)
    a, b = rng.random((19, 30)), rng.random((30, 21))
    c = np.zeros((19, 21))
    run(matmul, (3, 3), (TILE, TILE), a, b, c)
    np.testing.assert_allclose(c, a @ b)


def cubes(x):
    shared = cuda.shared.array(1000, np.int32)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    shared[(tz * 4 + ty) * 5 + tx] = x[tz, ty, tx]
    cuda.syncthreads()
    x[tz, ty, tx] = shared[((2 - tz) * 4 + (3 - ty)) * 5 + (4 - tx)]


def test_three_dimensional_blocks_pass_a_barrier_together(run):
    x = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    expected = x[::-1, ::-1, ::-1].copy()
    run(cubes, 1, (5, 4, 3), x)
    assert np.array_equal(x, expected)


def local_across(x, out):
    mine = cuda.local.array(4, np.int64)
    t = cuda.threadIdx.x
    for k in range(4):
        mine[k] = x[t] * k
    flag = x[t] % 2 == 0
    cuda.syncthreads()
    mine[t % 4] += 100
    cuda.syncthreads()
    total = 0
    for k in range(4):
        total += mine[k]
    out[t] = total if flag else -total


def test_local_arrays_and_flags_survive_barriers(run):
    x = np.arange(40, dtype=np.int64)
    out = np.zeros(40, np.int64)
    run(local_across, 1, 40, x, out)
    assert np.array_equal(out, np.where(x % 2 == 0, x * 6 + 100, -(x * 6 + 100)))


def scan(x, out):
    shared = cuda.shared.array((2, 64), np.int64)
    t = cuda.threadIdx.x
    now = 0
    shared[now, t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        value = shared[now, t]
        if t >= step:
            value += shared[now, t - step]
        now = 1 - now
        shared[now, t] = value
        cuda.syncthreads()
        step *= 2
    out[t] = shared[now, t]


def test_a_scan_with_two_buffers_is_numpys_cumulative_sum(run):
    x = np.random.default_rng(5).integers(0, 100, 64)
    out = np.zeros(64, np.int64)
    run(scan, 1, 64, x, out)
    assert np.array_equal(out, np.cumsum(x))


def swapped(x, out, rounds):
    shared = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    a, b = x[t], x[t] * 10
    for _ in range(rounds):
        shared[t] = a
        cuda.syncthreads()
        a, b = b, shared[(t + 1) % 32]
        cuda.syncthreads()
    out[t] = a * 1000000 + b


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_values_that_change_places_across_a_barrier_are_not_mixed_up(run, rounds):
    x = np.arange(32)
    out = np.zeros(32, np.int64)
    run(swapped, 1, 32, x, out, rounds)
    a, b = x.copy(), x * 10
    for _ in range(rounds):
        a, b = b, np.roll(a, -1)
    assert np.array_equal(out, a * 1000000 + b)


def uneven(x, out):
    shared = cuda.shared.array(1, np.int64)
    t = cuda.threadIdx.x
    if t == 0:
        shared[0] = 0
    cuda.syncthreads()
    for k in range(x.size):
        if t == k:
            return
        if t == x.size:
            shared[0] += x[k]
        cuda.syncthreads()
    out[t - x.size] = shared[0]


def test_threads_may_leave_one_by_one_between_barriers(run):
    x = np.arange(1, 11)
    out = np.zeros(6, np.int64)
    run(uneven, 1, 16, x, out)
    assert out.tolist() == [55] * 6


def divergent(out):
    t = cuda.threadIdx.x
    if t < 5:
        out[t] = 1
        cuda.syncthreads()
        out[t] = 2
    else:
        cuda.syncthreads()
        cuda.syncthreads()
        out[t] = 3


def test_threads_at_different_barriers_are_an_error_that_names_the_block(run):
    out = np.zeros(16, np.int64)
    with pytest.raises(LaunchError, match=r"grid 1, block 16.*block \(0, 0, 0\) wait at different cuda.syncthreads"):
        run(divergent, 1, 16, out)


def many_values(x, out):
    t = cuda.threadIdx.x
    a = x[t]
    b, c, d, e = a * 2.5, a > 0.5, np.int8(t), np.float32(a)
    cuda.syncthreads()
    out[t] = a + b + c + d + e
    cuda.syncthreads()
    out[t] += b if c else d


def test_values_of_every_size_cross_a_barrier(run):
    x = np.random.default_rng(6).random(50)
    out = np.zeros(50)
    run(many_values, 1, 50, x, out)
    t = np.arange(50)
    first = x + 2.5 * x + (x > 0.5) + t + x.astype(np.float32)
    np.testing.assert_allclose(out, first + np.where(x > 0.5, 2.5 * x, t))


@pytest.mark.some(1)
@pytest.mark.parametrize("options", [Options(opt=False), Options(debug=True), Options(fastmath=True)])
def test_options_do_not_change_what_a_reduction_sums(run, options):
    x = np.random.default_rng(7).random(300, dtype=np.float32)
    out = np.zeros(5, np.float32)
    assert run(block_sum, 5, 64, x, out, options=options) is None
    np.testing.assert_allclose(out, np.append(x, np.zeros(20)).reshape(5, 64).sum(axis=1), rtol=1e-5)


def two_ways(x, out, rounds):
    shared = cuda.shared.array(16, np.int64)
    t = cuda.threadIdx.x
    shared[t] = 0
    cuda.syncthreads()
    kept, turned = rounds * 2, rounds
    for k in range(rounds):
        if turned % 2 == 0:
            shared[t] = x[t] + kept
            cuda.syncthreads()
            turned = turned // 2 + kept
        else:
            cuda.syncthreads()
            shared[t] = shared[t] + turned
            turned += 3
            cuda.syncthreads()
        kept += k
    out[t] = shared[15 - t] * 1000 + kept * 10 + turned


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 8])
def test_values_that_all_threads_share_are_right_on_every_way_through_the_barriers(run, rounds):
    x, out, shared = np.arange(16), np.zeros(16, np.int64), np.zeros(16, np.int64)
    run(two_ways, 1, 16, x, out, rounds)
    kept, turned = rounds * 2, rounds
    for k in range(rounds):
        if turned % 2 == 0:
            shared = x + kept
            turned = turned // 2 + kept
        else:
            shared = shared + turned
            turned += 3
        kept += k
    assert np.array_equal(out, shared[::-1] * 1000 + kept * 10 + turned)


def one_counts_on(x, out):
    shared = cuda.shared.array(1, np.int64)
    t = cuda.threadIdx.x
    if t == 0:
        shared[0] = 0
    cuda.syncthreads()
    turn = 0
    while turn < x[0]:
        if t == turn:
            shared[0] += turn * 10
        cuda.syncthreads()
        turn += 1
    out[t] = turn + shared[0]


def test_a_loop_bound_read_from_memory_is_followed(run):
    x, out = np.array([5]), np.zeros(8, np.int64)
    run(one_counts_on, 1, 8, x, out)
    assert out.tolist() == [105] * 8


def turned(x, out, n):
    shared = cuda.shared.array(256, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if n < 1 or i >= n:
        return
    shared[t] = x[i]
    cuda.syncthreads()
    last = min(cuda.blockDim.x, n - cuda.blockIdx.x * cuda.blockDim.x) - 1
    out[i] = shared[last - t]
    cuda.syncthreads()
    shared[t] = out[i] + 1
    cuda.syncthreads()
    out[i] += shared[last - t]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("grid", "block"), [(1, 1), (3, 32), (5, 19), (2, 256)])
def test_threads_go_on_from_barrier_to_barrier_while_others_of_their_block_have_ended(run, grid, block, threads):
    for n in (0, 1, 18, 20, 64, min(grid * block, 90)):
        n = min(n, grid * block)
        x, out = np.arange(float(grid * block)), np.zeros(grid * block)
        run(turned, grid, block, x, out, n, threads=threads)
        expected = np.zeros(grid * block)
        for start in range(0, n, block):
            end = min(start + block, n)
            expected[start:end] = x[start:end][::-1] + x[start:end] + 1
        np.testing.assert_array_equal(out, expected)


def in_part_of_a_plane(x, out, n, left):
    shared = cuda.shared.array((16, 16), np.float64)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    if j >= n or i < 2 or i == left or i + j > 12:
        return
    shared[j, i] = x[j, i]
    for k in range(5):
        cuda.syncthreads()
        added = shared[0, i] + k
        cuda.syncthreads()
        shared[j, i] += added
    if (i + j) % 2 == 0:
        out[j, i] = -1
        return
    cuda.syncthreads()
    out[j, i] = shared[j, i] + cuda.blockIdx.x


@pytest.mark.parametrize("left", [-1, 1, 5, 9, 12])
def test_rows_of_which_other_parts_have_ended_meet_at_every_barrier(run, left):
    for n in (0, 1, 4, 10):
        x, out = np.random.default_rng(9).random((10, 14)), np.zeros((10, 14))
        run(in_part_of_a_plane, 1, (14, 10), x, out, n, left)
        j, i = np.mgrid[:10, :14]
        lives = (j < n) & (i >= 2) & (i != left) & (i + j <= 12)
        shared = np.where(lives, x, 0)
        for k in range(5):
            shared = shared + np.where(lives, shared[0] + k, 0)
        expected = np.where(lives, np.where((i + j) % 2 == 0, -1, shared), 0)
        np.testing.assert_allclose(out, expected)


def counted(out, n):
    i = cuda.grid(1)
    if i >= n:
        return
    out[i] = cuda.syncthreads_count(np.int32(i % 3))
    cuda.syncthreads()
    out[i] += 100


def test_threads_that_have_ended_count_for_nothing_where_others_are_counted(run):
    for n in (1, 7, 40, 64):
        out = np.zeros(64, np.int32)
        run(counted, 2, 32, out, n)
        i = np.arange(64)
        counts = [np.count_nonzero((i[:n] // 32 == b) & (i[:n] % 3 != 0)) for b in range(2)]
        np.testing.assert_array_equal(out, np.where(i < n, 100 + np.take(counts, i // 32), 0))
