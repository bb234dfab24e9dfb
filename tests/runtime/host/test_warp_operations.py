"""Warp operations mean on the host what CUDA says of them, whatever the shape of the block and the threads' ways."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.options import Options

cuda = numba_cuda()
FULL = 0xFFFFFFFF


def idx(x, out, by):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    out[t] = cuda.shfl_sync(FULL, x[t], by)


def up(x, out, by):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    out[t] = cuda.shfl_up_sync(FULL, x[t], by)


def down(x, out, by):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    out[t] = cuda.shfl_down_sync(FULL, x[t], by)


def xor(x, out, by):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    out[t] = cuda.shfl_xor_sync(FULL, x[t], by)


def each(x, out, by):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    out[t] = cuda.shfl_sync(FULL, x[t], t * by)


SOURCES = {
    idx: lambda lane, by: by,
    up: lambda lane, by: lane - by,
    down: lambda lane, by: lane + by,
    xor: lambda lane, by: lane ^ by,
    each: lambda lane, by: lane * by % 32,
}


TYPES = ("int32", "int64", "float32", "float64")


@pytest.mark.each_value_once
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kernel", SOURCES, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("block", [(32, 1), (20, 1), (100, 1), (12, 6)])
def test_shuffles_of_every_type_read_the_lane_they_name_or_else_their_own(run, kernel, dtype, block):
    n = block[0] * block[1]
    x = np.random.default_rng(0).integers(-(2**31), 2**31, n).astype(dtype)
    if dtype == "int64":
        x *= 2**31
    for by in (0, 1, 7, 16, 31):
        out = np.zeros_like(x)
        run(kernel, 1, block, x, out, by)
        sources = [t // 32 * 32 + lane if 0 <= (lane := SOURCES[kernel](t % 32, by)) < 32 else t for t in range(n)]
        assert out.tolist() == [x[source] if source < n else x[t] for t, source in enumerate(sources)]


def votes(x, out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.all_sync(FULL, x[t])
    out[1, t] = cuda.any_sync(FULL, x[t])
    out[2, t] = cuda.eq_sync(FULL, x[t])
    out[3, t] = cuda.ballot_sync(FULL, x[t])


@pytest.mark.each_value_once
@pytest.mark.parametrize("n", [32, 64, 40])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_votes_count_the_lanes_of_each_warp(run, n, share):
    x = np.random.default_rng(1).random(n) < share
    out = np.zeros((4, n), np.int64)
    run(votes, 1, n, x.astype(np.int32), out)
    for first in range(0, n, 32):
        warp = x[first : first + 32]
        ballot = np.int64(sum(1 << lane for lane, yes in enumerate(warp) if yes)).astype(np.int32)
        expected = [warp.all(), warp.any(), warp.all() or not warp.any(), ballot]
        assert out[:, first : first + 32].T.tolist() == [[int(value) for value in expected]] * warp.size


def votes_that_meet(x, out):
    t = cuda.threadIdx.x
    vote = cuda.any_sync(FULL, x[t] > 0) if t < 32 else cuda.all_sync(FULL, x[t] > 0)
    cuda.syncwarp()
    out[t] = vote


@pytest.mark.parametrize(("x", "expected"), [((0, 0), (0, 0)), ((0, 1), (0, 1)), ((1, 0), (1, 0)), ((2, 2), (1, 1))])
def test_a_variable_has_the_result_of_the_vote_that_its_warp_came_by(run, x, expected):
    out = np.zeros(64, np.int64)
    run(votes_that_meet, 1, 64, np.repeat(np.array(x, np.int32), 32), out)
    assert out.tolist() == np.repeat(expected, 32).tolist()


def matches(x, out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.match_any_sync(FULL, x[t])
    mask, same = cuda.match_all_sync(FULL, x[t])
    out[1, t] = mask
    out[2, t] = same


@pytest.mark.each_value_once
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [32, 45])
def test_matches_compare_all_bits(run, dtype, n):
    x = (np.arange(n) % 3 * (2**33 if dtype == "int64" else 1)).astype(dtype)
    out = np.zeros((3, n), np.int64)
    run(matches, 1, n, x, out)
    for first in range(0, n, 32):
        warp = x[first : first + 32]
        masks = [sum(1 << lane for lane, other in enumerate(warp) if other == value) for value in warp]
        assert (out[0, first : first + 32] & FULL).tolist() == masks
        assert not out[1:, first : first + 32].any()
    x[:] = x[0]
    run(matches, 1, n, x, out)
    assert (out[1, :32] & FULL).tolist() == [FULL] * 32
    assert out[2].all()


def quarters(out):
    t = cuda.threadIdx.x
    if t % 4 == 0:
        ballot = cuda.ballot_sync(0x11111111, True)
    elif t % 4 == 1:
        ballot = cuda.ballot_sync(0x22222222, True)
    elif t % 4 == 2:
        ballot = cuda.ballot_sync(0x44444444, True)
    else:
        ballot = cuda.ballot_sync(0x88888888, True)
    out[t] = ballot & FULL


def test_groups_of_lanes_go_their_own_ways(run):
    out = np.zeros(64, np.int64)
    run(quarters, 1, 64, out)
    assert out.tolist() == [0x11111111, 0x22222222, 0x44444444, 0x88888888] * 16


def elsewhere(x, out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        value = cuda.shfl_xor_sync(FULL, x[t] * 10, 1)
        value += 1
    else:
        value = cuda.shfl_xor_sync(FULL, x[t] * 1000, 1)
        value += 2
    out[t] = value


def test_lanes_meet_at_different_places_of_the_program(run):
    x, out = np.arange(32), np.zeros(32, np.int64)
    run(elsewhere, 1, 32, x, out)
    assert out.tolist() == [(t + 1) * 1000 + 1 if t % 2 == 0 else (t - 1) * 10 + 2 for t in range(32)]


def active(out):
    t = cuda.threadIdx.x
    if t % 32 == 5:
        return
    if t % 2 == 0:
        out[t] = cuda.activemask() & FULL
    else:
        out[t] = cuda.activemask() & FULL
    cuda.syncwarp()
    out[t + cuda.blockDim.x] = cuda.activemask() & FULL


def test_the_active_lanes_are_those_that_are_at_one_place_and_have_not_ended(run):
    out = np.zeros(128, np.int64)
    run(active, 1, 64, out)
    even, odd = 0x55555555, 0xAAAAAAAA ^ 1 << 5
    assert out[:64].tolist() == [0 if t % 32 == 5 else odd if t % 2 else even for t in range(64)]
    assert out[64:].tolist() == [0 if t % 32 == 5 else FULL ^ 1 << 5 for t in range(64)]


def aggregated(x, out, count):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        mask = cuda.activemask()
        leader = cuda.ffs(mask) - 1
        start = 0
        if cuda.laneid == leader:
            start = cuda.atomic.add(count, 0, cuda.popc(mask))
        start = cuda.shfl_sync(mask, start, leader)
        out[start + cuda.popc(mask & cuda.lanemask_lt())] = x[i]


@pytest.mark.some(1)
@pytest.mark.parametrize("threads", [1, 2])
def test_atomics_can_be_aggregated_by_warps(run, threads):
    x = np.random.default_rng(2).integers(-50, 50, 1000)
    out, count = np.zeros(1000, np.int64), np.zeros(1, np.int64)
    run(aggregated, 8, 128, x, out, count, threads=threads)
    assert count[0] == (x > 0).sum()
    assert sorted(out[: count[0]]) == sorted(x[x > 0])


@cuda.jit(device=True)
def warp_sum(value):
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(FULL, value, step)
        step //= 2
    return value


def block_sum(x, out):
    partial = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    value = warp_sum(x[cuda.grid(1)])
    if cuda.laneid == 0:
        partial[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = warp_sum(partial[t] if t < cuda.blockDim.x // 32 else 0.0)
        if t == 0:
            out[cuda.blockIdx.x] = value


@pytest.mark.each_value_once
@pytest.mark.parametrize("block", [32, 256, 1024])
@pytest.mark.parametrize("options", [Options(), Options(opt=False), Options(fastmath=True)])
def test_a_block_is_summed_by_its_warps_and_then_by_one(run, block, options):
    x = np.random.default_rng(3).random(3 * block)
    out = np.zeros(3)
    run(block_sum, 3, block, x, out, options=options)
    np.testing.assert_allclose(out, x.reshape(3, block).sum(axis=1))


def turns(x, out):
    t = cuda.threadIdx.x
    total = 0
    for outer in range(3):
        for inner in range(t % 2 + 1):
            mask = FULL if inner == 0 else 0xAAAAAAAA
            total = total * 3 + cuda.shfl_xor_sync(mask, x[t] + outer * 100 + inner * 10, 2)
        if t < 32:
            total += cuda.shfl_sync(FULL, total, outer)
    out[t] = total


def test_warps_and_lanes_in_different_turns_of_loops_keep_their_own_counters(run):
    x, out = np.arange(96), np.zeros(96, np.int64)
    run(turns, 1, 96, x, out)
    totals = np.zeros(96, np.int64)
    for outer in range(3):
        for inner in range(2):
            chosen = np.ones(96, bool) if inner == 0 else np.arange(96) % 2 == 1
            value = x[np.arange(96) ^ 2] + outer * 100 + inner * 10
            totals = np.where(chosen, totals * 3 + value, totals)
        totals[:32] += totals[outer]
    assert out.tolist() == totals.tolist()


def warps_ask_of_a_shared_value(x, out, m):
    t = cuda.threadIdx.x
    if cuda.all_sync(FULL, x[t] != 0) and cuda.all_sync(FULL, x[t] != 1):
        divides = m % 3 == 0
        out[t] += cuda.popc(cuda.ballot_sync(FULL, divides))
        if divides:
            out[t] += 100


def test_a_warp_that_is_ahead_reads_the_shared_value_that_it_made_itself(run):
    x = np.repeat([2, 1, 0], 32)
    for m, expected in [(3, 132), (2, 0), (3, 132)]:  # what one launch leaves in memory is wrong in the next
        out = np.zeros(96, np.int64)
        assert run(warps_ask_of_a_shared_value, 1, 96, x, out, m, threads=1) is None
        assert out.tolist() == [expected] * 32 + [0] * 64


def counted(x, out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.syncthreads_count(x[t])
    out[1, t] = cuda.syncthreads_and(x[t])
    out[2, t] = cuda.syncthreads_or(x[t])
    if t % 3 == 0:
        return
    out[3, t] = cuda.syncthreads_count(x[t] + 2)


@pytest.mark.some(1)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_barriers_count_what_the_threads_say_that_have_not_ended(run, share):
    x = (np.random.default_rng(4).random(72) < share).astype(np.int32) * 256
    out = np.zeros((4, 72), np.int64)
    run(counted, 1, 72, x, out)
    assert out[:3].T.tolist() == [[(x != 0).sum(), int(x.all()), int(x.any())]] * 72
    assert out[3].tolist() == [0 if t % 3 == 0 else 48 for t in range(72)]


def in_step(out, rounds):
    t = cuda.threadIdx.x
    for k in range(rounds):
        cuda.syncwarp()
        cuda.nanosleep(10)
        out[t] += k * cuda.popc(cuda.ballot_sync(FULL, (t + k) % 2 == 0))


def test_loops_with_warp_operations_count_as_they_should(run):
    out = np.zeros(64, np.int64)
    run(in_step, 1, 64, out, 5)
    assert out.tolist() == [160] * 64


def producers(x, out):
    shared = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    if t < 32:
        for k in range(4):
            shared[t] = x[t] + k
            cuda.syncthreads()
            cuda.syncthreads()
    else:
        total = 0
        for _ in range(4):
            cuda.syncthreads()
            total += shared[t - 32]
            cuda.syncthreads()
        out[t - 32] = total


def test_warps_may_wait_for_the_block_at_different_barriers(run):
    x, out = np.arange(32), np.zeros(32, np.int64)
    run(producers, 1, 64, x, out)
    assert out.tolist() == (4 * x + 6).tolist()


def forgotten(x):
    t = cuda.threadIdx.x
    if t < 40:
        x[t] = cuda.shfl_down_sync(FULL, x[t], 1)
    else:
        cuda.syncthreads()


def test_lanes_that_never_come_are_named(run):
    with pytest.raises(
        LaunchError, match=r"thread \(32, 0, 0\).*waits at cuda.shfl_down_sync for lanes 8 to 31 of its"
    ):
        run(forgotten, 1, 64, np.arange(64))


def unlike(x):
    t = cuda.threadIdx.x
    x[t] = cuda.any_sync(FULL if t % 2 else 0x0FFFFFFF, x[t])


def test_lanes_that_name_each_other_in_different_masks_are_an_error(run):
    with pytest.raises(LaunchError, match=r"waits at cuda.any_sync for lanes .* with another mask"):
        run(unlike, 1, 32, np.arange(32, dtype=np.int32))


def outside(x):
    t = cuda.threadIdx.x
    x[t] = cuda.shfl_sync(0xFFFF, x[t], 0)


def test_a_lane_outside_its_own_mask_is_alone_and_an_error_with_debug(run):
    x = np.arange(10, 42)
    run(outside, 1, 32, x)
    assert x.tolist() == [10] * 16 + list(range(26, 42))
    with pytest.raises(
        LaunchError, match=r"thread \(16, 0, 0\).*mask 0x0000ffff, which does not name its own lane, 16"
    ):
        run(outside, 1, 32, x, options=Options(debug=True))


def absent(x):
    t = cuda.threadIdx.x
    if t < 8:
        x[t] = cuda.shfl_down_sync(0xFF, x[t], 2)


def test_a_read_of_a_lane_that_takes_no_part_gives_the_own_value_and_is_an_error_with_debug(run):
    x = np.arange(32)
    run(absent, 1, 32, x)
    assert x.tolist() == [2, 3, 4, 5, 6, 7, 6, 7, *range(8, 32)]
    with pytest.raises(LaunchError, match=r"lane 7 .*uses cuda.shfl_down_sync to read.*lanes 0 to 7 do"):
        run(absent, 1, 32, x, options=Options(debug=True))


def raises(x):
    t = cuda.threadIdx.x
    value = cuda.shfl_sync(FULL, x[t], 3)
    if t == 37:
        cuda.syncwarp(1 << 5)
        raise ValueError
    x[t] = value


def test_a_lane_that_raises_after_the_others_have_gone_on_is_named(run):
    status = run(raises, 1, 64, np.arange(64))
    assert status.thread == (37, 0, 0)
