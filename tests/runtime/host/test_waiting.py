"""Blocks and threads that wait for each other through memory go on, in whichever order they have to."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.emit.plan import SPINS, STRANDED
from gridjit.runtime.devices.host import launch as launch_module

cuda = numba_cuda()

pytestmark = pytest.mark.parametrize("threads", [1, 2])


def lock_around(locks, x):
    while cuda.atomic.cas(locks, 0, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(locks, 0, 0)


def lock_in_a_branch(locks, x):
    done = False
    while not done:
        if cuda.atomic.cas(locks, 0, 0, 1) == 0:
            x[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(locks, 0, 0)
            done = True


def lock_by_exchange(locks, x):
    while cuda.atomic.exch(locks, 0, 1) == 1:
        cuda.threadfence()
    x[0] += 1
    cuda.atomic.exch(locks, 0, 0)


def lock_by_ticket(locks, x):
    mine = cuda.atomic.add(locks, 0, 1)
    while cuda.atomic.add(locks, 1, 0) != mine:
        pass
    x[0] += 1
    cuda.atomic.add(locks, 1, 1)


def lock_by_maximum(locks, x):
    while cuda.atomic.max(locks, 0, 1) == 1:
        pass
    x[0] += 1
    cuda.atomic.and_(locks, 0, 0)


LOCKS = [lock_around, lock_in_a_branch, lock_by_exchange, lock_by_ticket, lock_by_maximum]


@pytest.mark.each_value_once
@pytest.mark.parametrize("kernel", LOCKS)
def test_a_lock_lets_one_thread_in_at_a_time(run, kernel, threads):
    locks, x = np.zeros(2, np.int32), np.zeros(1)
    assert run(kernel, 50, 64, locks, x, threads=threads) is None
    assert x[0] == 50 * 64


def lock_held_over_a_barrier(locks, x):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(locks, 0, 0, 1) != 0:
            pass
    cuda.syncthreads()
    x[cuda.threadIdx.x] += 1
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.exch(locks, 0, 0)


def test_a_block_may_hold_a_lock_over_its_barriers(run, threads):
    locks, x = np.zeros(1, np.int32), np.zeros(64)
    assert run(lock_held_over_a_barrier, 300, 64, locks, x, threads=threads) is None
    assert (x == 300).all()


def ping_pong(turn, out, n, me):
    for i in range(n):
        while cuda.atomic.add(turn, 0, 0) % 2 != me:
            pass
        out[2 * i + me] = turn[0]
        cuda.atomic.add(turn, 0, 1)


def threads_in_turns(turn, out, n):
    ping_pong(turn, out, n, cuda.threadIdx.x)


def blocks_in_turns(turn, out, n):
    ping_pong(turn, out, n, cuda.blockIdx.x)


ping_pong = cuda.jit(device=True)(ping_pong)


@pytest.mark.each_value_once
@pytest.mark.parametrize(("kernel", "shape"), [(threads_in_turns, (1, 2)), (blocks_in_turns, (2, 1))])
def test_two_threads_take_turns(run, kernel, shape, threads):
    turn, out = np.zeros(1, np.int32), np.zeros(2000, np.int32)
    assert run(kernel, *shape, turn, out, np.int64(1000), threads=threads) is None
    assert (out == np.arange(2000)).all()


def from_the_last(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    if cuda.threadIdx.x == 3:
        while cuda.atomic.or_(turn, 0, 0) != me:
            pass
    cuda.syncthreads()
    out[cuda.grid(1)] = turn[0]
    cuda.syncthreads()
    if cuda.threadIdx.x == 7:
        cuda.atomic.add(turn, 0, 1)


def test_blocks_may_wait_for_later_blocks(run, threads):
    turn, out = np.zeros(1, np.int32), np.full((1000, 32), -1, np.int32)
    assert run(from_the_last, 1000, 32, turn, out.reshape(-1), threads=threads) is None
    assert (out == np.arange(1000)[::-1, None]).all()


def reads_beside_a_fence(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    while turn[0] != me:
        cuda.threadfence()
    out[me] = turn[0]
    cuda.threadfence()
    turn[0] = me + 1


def reads_anew(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    while cuda.ldcv(turn, 0) != me:
        pass
    out[me] = turn[0]
    cuda.threadfence()
    turn[0] = me + 1


def naps_between_reads(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    pause = 8
    while turn[0] != me:
        cuda.nanosleep(pause)
        pause = min(256, pause * 2)
    out[me] = turn[0]
    turn[0] = me + 1


def naps_at_a_place_of_its_own(turns, out):
    me = cuda.blockIdx.x
    while turns[me] == 0 and me + 1 < cuda.gridDim.x:
        cuda.nanosleep(20)
    out[me] = me
    if me > 0:
        turns[me - 1] = 1


def only_reads(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    while turn[0] != me:
        pass
    out[me] = turn[0]
    turn[0] = me + 1


def counts_its_reads(turn, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    reads = 0
    while turn[0] != me or turn[1] != 0:
        reads += 1
    out[me] = turn[0] + min(reads, 0)
    turn[0] = me + 1


@pytest.mark.each_value_once
@pytest.mark.parametrize(
    "kernel",
    [
        reads_beside_a_fence,
        reads_anew,
        naps_between_reads,
        naps_at_a_place_of_its_own,
        only_reads,
        counts_its_reads,
    ],
)
def test_what_others_store_is_seen_by_loops_that_read_it_anew(run, kernel, threads):
    out = np.full(100, -1, np.int32)
    assert run(kernel, 100, 1, np.zeros(100, np.int32), out, threads=threads) is None
    assert (out == np.arange(100)).all()


def look_back_scan(x, out, states, sums, prefixes):
    """Scan with decoupled look-back: 1 says that a block's sum is there, 2 that the sum up to it is."""
    tile = cuda.shared.array(64, np.int64)
    before = cuda.shared.array(1, np.int64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 64:
        value = tile[t - step] if t >= step else 0
        cuda.syncthreads()
        tile[t] += value
        cuda.syncthreads()
        step *= 2
    if t == 0:
        sums[b] = tile[63]
        cuda.threadfence()
        cuda.atomic.exch(states, b, 1)
        total, at = 0, b - 1
        while at >= 0:
            state = cuda.atomic.add(states, at, 0)
            if state == 2:
                total += prefixes[at]
                break
            if state == 1:
                total += sums[at]
                at -= 1
        prefixes[b] = total + tile[63]
        cuda.threadfence()
        cuda.atomic.exch(states, b, 2)
        before[0] = total
    cuda.syncthreads()
    out[cuda.grid(1)] = before[0] + tile[t]


def test_a_scan_with_decoupled_look_back_sums_all_before(run, threads):
    x = np.random.default_rng(3).integers(0, 100, 64 * 200)
    out, states = np.zeros_like(x), np.zeros(200, np.int32)
    assert run(look_back_scan, 200, 64, x, out, states, *np.zeros((2, 200), np.int64), threads=threads) is None
    assert (out == x.cumsum()).all()


def producers_and_consumers(slots, full, out, n):
    """A block sends each item to the next one through a slot that is filled and emptied again and again."""
    me, pair = cuda.blockIdx.x % 2, cuda.blockIdx.x // 2
    for i in range(n):
        while cuda.atomic.cas(full, pair, 1 - me, 1 - me) != 1 - me:
            pass
        if me == 1:
            slots[pair] = pair * n + i
        else:
            out[pair, i] = slots[pair]
        cuda.threadfence()
        cuda.atomic.exch(full, pair, me)


def test_producers_hand_items_to_consumers_in_other_blocks(run, threads):
    slots, full, out = np.zeros(8, np.int64), np.zeros(8, np.int32), np.zeros((8, 100), np.int64)
    # A consumer, which comes first, waits for 1, and a producer for 0.
    assert run(producers_and_consumers, 16, 1, slots, full, out, np.int64(100), threads=threads) is None
    assert (out.reshape(-1) == np.arange(800)).all()


def last_block_sums(x, partial, count, out):
    total = 0.0
    for i in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        total += x[cuda.blockIdx.x * 256 + i]
    cuda.atomic.add(partial, cuda.blockIdx.x, total)
    cuda.threadfence()
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
        for block in range(cuda.gridDim.x):
            out[0] += partial[block]


def test_the_last_block_that_is_done_sums_what_all_found(run, threads):
    x = np.arange(256 * 100, dtype=np.float64)
    partial, count, out = np.zeros(100), np.zeros(1, np.int32), np.zeros(1)
    assert run(last_block_sums, 100, 32, x, partial, count, out, threads=threads) is None
    assert out[0] == x.sum()


def barrier_made_of_atomics(arrived, x, out, rounds):
    i, blocks = cuda.grid(1), cuda.gridDim.x
    for turn in range(rounds):
        x[i] += 1
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.threadfence()
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < (2 * turn + 1) * blocks:
                pass
        cuda.syncthreads()
        out[i] += x[(i + cuda.blockDim.x) % x.size] == turn + 1
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(arrived, 0, 1)
            while cuda.atomic.add(arrived, 0, 0) < (2 * turn + 2) * blocks:
                pass
        cuda.syncthreads()


def test_a_barrier_of_the_grid_can_be_made_of_atomics(run, threads):
    x, out = np.zeros((2, 20 * 32), np.int32)
    assert run(barrier_made_of_atomics, 20, 32, np.zeros(1, np.int32), x, out, np.int64(50), threads=threads) is None
    assert (x == 50).all() and (out == 50).all()


def asked_for_by_the_block(flag, out):
    seen = cuda.shared.array(1, np.int32)
    while True:
        if cuda.threadIdx.x == 0:
            seen[0] = cuda.atomic.add(flag, 0, 0)
        cuda.syncthreads()
        if seen[0] >= cuda.gridDim.x - 1 - cuda.blockIdx.x:
            break
        cuda.syncthreads()
    out[cuda.grid(1)] = seen[0]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(flag, 0, 1)


def test_a_block_may_ask_together_for_what_another_block_writes(run, threads):
    out = np.full(64, -1, np.int32)
    assert run(asked_for_by_the_block, 4, 16, np.zeros(1, np.int32), out, threads=threads) is None
    assert (out.reshape(4, 16) == [[3], [2], [1], [0]]).all()


def several_turns(states, out):
    i = cuda.grid(1)
    count = 0
    while count < 11:
        state = cuda.atomic.add(states, 0, 0)
        if state == i and count == 0:
            count += 10
            cuda.atomic.add(states, 0, 1)
            continue
        if state == 3:
            count += cuda.atomic.exch(states, 1 + i, 1) == 0
    out[i] = count


def test_a_loop_that_waits_keeps_what_each_thread_counted(run, threads):
    out = np.zeros(3, np.int64)
    assert run(several_turns, 1, 3, np.zeros(4, np.int32), out, threads=threads) is None
    assert out.tolist() == [11, 11, 11]


def maximum_by_hand(x, out):
    i = cuda.grid(1)
    old = out[0]
    while old < x[i]:
        assumed = old
        old = cuda.atomic.cas(out, 0, assumed, x[i])
        if old == assumed:
            break


def counted_down(queue, done):
    while True:
        item = cuda.atomic.sub(queue, 0, 1)
        if item <= 0:
            break
        cuda.atomic.add(done, item - 1, 1)


def finds(x, out):
    i = cuda.grid(1)
    at = 0
    while x[at] < i:
        at += 1
    turns = 0
    while turns < x[0] + 3:
        turns += 1
    out[at] = turns + 636


@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (finds, (np.arange(640, dtype=np.int64), np.zeros(640, np.int64))),
        (maximum_by_hand, (np.arange(640, dtype=np.int64), np.zeros(1, np.int64))),
        (counted_down, (np.full(1, 500, np.int32), np.zeros(500, np.int32))),
    ],
)
def test_loops_in_which_somebody_always_gets_on_do_not_wait(loaded, run, kernel, arguments, threads):
    arguments = tuple(argument.copy() for argument in arguments)
    assert run(kernel, 10, 64, *arguments, threads=threads) is None
    assert arguments[1].max() == (1 if kernel is counted_down else 639)
    assert not run.resident(kernel, *arguments)


def synced_rows(rows):
    column, grid = cuda.grid(1), cuda.cg.this_grid()
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
        grid.sync()


def test_no_block_goes_on_before_all_blocks_of_the_grid_have_come(run, threads):
    rows = np.zeros((256, 512), np.int32)
    assert run(synced_rows, 16, 32, rows, threads=threads) is None
    assert (rows == np.arange(256)[:, None]).all()


def relaxed(now, after, rounds, error):
    """Solve Laplace's equation by Jacobi's method; the blocks' largest changes meet in error."""
    largest = cuda.shared.array(1, np.int64)
    i, j = cuda.grid(2)
    grid = cuda.cg.this_grid()
    for turn in range(rounds):
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            largest[0] = 0
        cuda.syncthreads()
        if 0 < i < now.shape[0] - 1 and 0 < j < now.shape[1] - 1:
            after[i, j] = 0.25 * (now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1])
            cuda.atomic.max(largest, 0, int(abs(after[i, j] - now[i, j]) * 1e9))
        cuda.syncthreads()
        if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
            cuda.atomic.max(error, turn, largest[0])
        grid.sync()
        if 0 < i < now.shape[0] - 1 and 0 < j < now.shape[1] - 1:
            now[i, j] = after[i, j]
        grid.sync()


def test_a_solver_may_synchronize_the_grid_twice_a_step_beside_barriers_of_the_block(run, threads):
    now = np.zeros((32, 32))
    now[0] = 1
    expected, errors = now.copy(), []
    for _ in range(40):
        step = expected.copy()
        step[1:-1, 1:-1] = 0.25 * (expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:])
        errors.append(int(abs(step - expected).max() * 1e9))
        expected = step
    error = np.zeros(40, np.int64)
    assert run(relaxed, (4, 4), (8, 8), now, now.copy(), np.int64(40), error, threads=threads) is None
    np.testing.assert_allclose(now, expected)
    assert abs(error - errors).max() <= 1


def parted_sync(x):
    grid = cuda.cg.this_grid()
    if cuda.blockIdx.x == 0:
        x[0] = 5
        grid.sync()
    else:
        grid.sync()
        x[cuda.blockIdx.x] = x[0]


def test_blocks_may_synchronize_at_different_places(run, threads):
    x = np.zeros(8)
    assert run(parted_sync, 8, 4, x, threads=threads) is None
    assert (x == 5).all()


def some_threads_end(x):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    if cuda.threadIdx.x >= 20:
        return
    x[i] = i
    grid.sync()
    x[i] += x[(i + cuda.blockDim.x) % x.size]


def test_threads_that_returned_count_as_come_to_the_grids_barrier(run, threads):
    x = np.zeros(4 * 32)
    assert run(some_threads_end, 4, 32, x, threads=threads) is None
    assert x.reshape(4, 32)[2, 5] >= 2 * 32 + 5 + 3 * 32 + 5


def block_ends(x):
    if cuda.blockIdx.x == 1:
        return
    cuda.cg.this_grid().sync()
    x[0] = 1


def test_a_block_that_never_comes_to_the_grids_barrier_is_an_error(run, threads):
    with pytest.raises(
        launch_module.LaunchError, match=r"block \(0, 0, 0\) waits for the grid.*other blocks have ended"
    ):
        run(block_ends, 3, 4, np.zeros(1), threads=threads)


def waits_with_a_count(locks, x):
    n = 0
    if cuda.blockIdx.x == 2 and cuda.threadIdx.x == 1:
        while cuda.atomic.add(locks, 0, 0) != 0:
            n += 1
    x[0] += n


def waits_beside_a_barrier(locks, x):
    if cuda.blockIdx.x == 2 and cuda.threadIdx.x == 1:
        while cuda.atomic.exch(locks, 0, 1) != 0:
            pass
    cuda.syncthreads()
    x[0] = 1


def waits_beside_the_grid(locks, x):
    if cuda.blockIdx.x == 2 and cuda.threadIdx.x == 1:
        while cuda.atomic.exch(locks, 0, 1) != 0:
            pass
    cuda.cg.this_grid().sync()
    x[0] = 1


@pytest.mark.each_value_once
@pytest.mark.parametrize("kernel", [waits_with_a_count, waits_beside_a_barrier, waits_beside_the_grid])
def test_a_wait_in_vain_ends_and_names_its_block_and_thread(run, kernel, threads):
    status = run(kernel, 4, 4, np.ones(1, np.int32), np.zeros(2), threads=threads, patience=50_000_000)
    assert status.code < SPINS
    assert (status.block, status.thread) == ((2, 0, 0), (1, 0, 0))


def test_codes_of_the_compiler_and_of_launches_are_the_same(threads):
    assert (SPINS, STRANDED) == (launch_module.SPINS, launch_module._STRANDED)


def warps_look_back(x, out, states, sums, prefixes):
    """Scan by warps, one to a block, with shuffles; lanes read 32 blocks before theirs at a time."""
    lane, b = cuda.laneid, cuda.blockIdx.x
    value = x[cuda.grid(1)]
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, value, step)
        if lane >= step:
            value += other
        step *= 2
    total = cuda.shfl_sync(0xFFFFFFFF, value, 31)
    if lane == 0:
        sums[b] = total
        cuda.threadfence()
        cuda.atomic.exch(states, b, 1)
    before, end = 0, b
    while end > 0:
        at = end - 1 - lane
        state, found = 2, 0
        if at >= 0:
            state = cuda.atomic.add(states, at, 0)
            while state == 0:
                state = cuda.atomic.add(states, at, 0)
            found = prefixes[at] if state == 2 else sums[at]
        done = cuda.ballot_sync(0xFFFFFFFF, state == 2)
        first = 0
        while first < 32 and not (done >> first) & 1:
            first += 1
        part = found if lane <= first else 0
        for shift in (16, 8, 4, 2, 1):
            part += cuda.shfl_xor_sync(0xFFFFFFFF, part, shift)
        before += part
        end = 0 if first < 32 else end - 32
    if lane == 31:
        prefixes[b] = before + total
        cuda.threadfence()
        cuda.atomic.exch(states, b, 2)
    out[cuda.grid(1)] = before + value


def test_warps_may_look_back_with_shuffles_and_votes(run, threads):
    x = np.random.default_rng(5).integers(0, 100, 32 * 150)
    out, states = np.zeros_like(x), np.zeros(150, np.int32)
    assert run(warps_look_back, 150, 32, x, out, states, *np.zeros((2, 150), np.int64), threads=threads) is None
    assert (out == x.cumsum()).all()


def sums_between_grid_barriers(x, rounds):
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    for _ in range(rounds):
        value = x[i]
        for shift in (16, 8, 4, 2, 1):
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, shift)
        odd = cuda.syncthreads_count(x[i] & 1)
        grid.sync()
        x[(i + cuda.blockDim.x) % x.size] = value + odd
        grid.sync()


def test_warps_and_blocks_work_together_between_barriers_of_the_grid(run, threads):
    x = np.arange(4 * 64)
    expected = x.copy()
    for _ in range(5):
        warps = expected.reshape(-1, 32).sum(axis=1, keepdims=True).repeat(32, axis=1).reshape(4, 64)
        expected = np.roll(warps + (expected.reshape(4, 64) & 1).sum(axis=1, keepdims=True), 64).reshape(-1)
    assert run(sums_between_grid_barriers, 4, 64, x, np.int64(5), threads=threads) is None
    assert (x == expected).all()


def lanes_wait_for_other_warps(flags, out):
    """The last lane of each warp waits for the next warp's first lane, which writes after its warp's vote."""
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    value = warp + 1
    if lane == 31 and warp < 3:
        while cuda.atomic.add(flags, warp + 1, 0) == 0:
            pass
        value += flags[warp + 1]
    total = cuda.shfl_sync(0xFFFFFFFF, value, 31)
    if lane == 0:
        cuda.atomic.exch(flags, warp, total)
    cuda.syncthreads()
    out[cuda.grid(1)] = total


def test_a_lane_may_wait_for_another_warp_while_its_own_waits_at_a_shuffle(run, threads):
    out = np.zeros(128, np.int64)
    assert run(lanes_wait_for_other_warps, 1, 128, np.zeros(4, np.int64), out, threads=threads) is None
    assert out.reshape(4, 32)[:, 7].tolist() == [10, 9, 7, 4]
