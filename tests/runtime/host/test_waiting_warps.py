"""Warps and blocks that do something together go on where they wait for others, and are named where they never will."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.emit.plan import SPINS

cuda = numba_cuda()


def warp_looks(flag, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    while True:
        seen = cuda.atomic.add(flag, 0, 0)
        if cuda.all_sync(0xFFFFFFFF, seen >= me):
            break
    out[cuda.grid(1)] = me
    cuda.syncwarp()
    if cuda.laneid == 0:
        cuda.threadfence()
        cuda.atomic.add(flag, 0, 1)


def leader_looks(flag, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    seen = -1
    while seen < me:
        if cuda.laneid == 0:
            seen = cuda.atomic.add(flag, 0, 0)
        seen = cuda.shfl_sync(0xFFFFFFFF, seen, 0)
    out[cuda.grid(1)] = seen
    cuda.syncwarp()
    if cuda.laneid == 0:
        cuda.threadfence()
        cuda.atomic.add(flag, 0, 1)


def block_looks(flag, out):
    me = cuda.gridDim.x - 1 - cuda.blockIdx.x
    while True:
        seen = 0
        if cuda.threadIdx.x == 5:
            seen = int(cuda.atomic.add(flag, 0, 0) >= me)
        if cuda.syncthreads_or(seen):
            break
    out[cuda.grid(1)] = me if cuda.syncthreads_count(cuda.threadIdx.x % 3) == 21 else -1
    if cuda.threadIdx.x == 9:
        cuda.atomic.add(flag, 0, 1)


@pytest.mark.some(1)
@pytest.mark.parametrize("kernel", [warp_looks, leader_looks, block_looks])
def test_a_warp_or_block_may_look_together_for_what_a_later_block_writes(run, kernel):
    out = np.full(20 * 32, -1, np.int32)
    assert run(kernel, 20, 32, np.zeros(1, np.int32), out) is None
    assert (out.reshape(20, 32) == np.arange(20)[::-1, None]).all()


def lock_for_a_warp(lock, x):
    active = cuda.activemask()
    if cuda.laneid == cuda.ffs(active) - 1:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        x[0] += cuda.popc(active)
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)
    cuda.syncwarp(active)


def test_a_lane_may_take_a_lock_for_its_warp(run):
    x = np.zeros(1, np.int64)
    assert run(lock_for_a_warp, 20, 80, np.zeros(1, np.int32), x) is None
    assert x[0] == 20 * 80


def warps_wait_in_shared_memory(out):
    ready = cuda.shared.array(32, np.int32)
    warp, last = cuda.threadIdx.x // 32, cuda.blockDim.x // 32 - 1
    if cuda.laneid == 0:
        ready[warp] = 1 if warp == last else 0
    cuda.syncthreads()
    while cuda.atomic.add(ready, warp, 0) == 0:
        pass
    value = cuda.shfl_sync(0xFFFFFFFF, ready[warp], 0)
    cuda.syncwarp()
    if cuda.laneid == 0 and warp > 0:
        cuda.atomic.exch(ready, warp - 1, value + 1)
    out[cuda.grid(1)] = value


def test_warps_may_wait_for_each_other_through_shared_memory(run):
    out = np.zeros(3 * 256, np.int32)
    assert run(warps_wait_in_shared_memory, 3, 256, out) is None
    assert (out.reshape(3, 8, 32) == np.arange(8, 0, -1)[:, None]).all()


def lock_in_shared_memory(out):
    lock = cuda.shared.array(1, np.int32)
    total = cuda.shared.array(1, np.int64)
    if cuda.threadIdx.x == 0:
        lock[0] = 0
        total[0] = 0
    cuda.syncthreads()
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += cuda.threadIdx.x
    cuda.threadfence_block()
    cuda.atomic.exch(lock, 0, 0)
    cuda.syncthreads()
    out[cuda.grid(1)] = total[0]


def test_a_lock_may_be_in_shared_memory(run):
    out = np.zeros(7 * 128, np.int64)
    assert run(lock_in_shared_memory, 7, 128, out) is None
    assert (out == 127 * 64).all()


def grid_and_turns(flag, x):
    grid, i = cuda.cg.this_grid(), cuda.grid(1)
    x[i] = i
    grid.sync()
    if cuda.threadIdx.x == 0:
        while cuda.atomic.add(flag, 0, 0) != cuda.blockIdx.x:
            pass
        cuda.threadfence()
        cuda.atomic.add(flag, 0, 1)
    total = cuda.shfl_down_sync(0xFFFFFFFF, x[(i + 64) % x.size], 1)
    grid.sync()
    x[i] = total


def test_a_kernel_may_synchronize_its_grid_wait_in_loops_and_shuffle(run):
    x = np.zeros(256, np.int64)
    assert run(grid_and_turns, 4, 64, np.zeros(1, np.int32), x) is None
    lanes = np.roll(np.arange(256), -64).reshape(-1, 32)
    assert (x == np.concatenate([lanes[:, 1:], lanes[:, -1:]], axis=1).reshape(-1)).all()


def warp_in_vain(flag, out):
    while True:
        if cuda.any_sync(0xFFFFFFFF, cuda.atomic.add(flag, 0, 0)):
            break
    out[0] = 1


def leader_in_vain(flag, out):
    seen = 0
    while seen == 0:
        if cuda.laneid == 0:
            seen = cuda.atomic.add(flag, 0, 0)
        seen = cuda.shfl_sync(0xFFFFFFFF, seen, 0)
    out[0] = 1


def block_in_vain(flag, out):
    while True:
        if cuda.syncthreads_or(cuda.atomic.add(flag, 0, 0)):
            break
    out[0] = 1


@pytest.mark.some(1)
@pytest.mark.parametrize("kernel", [warp_in_vain, leader_in_vain, block_in_vain])
def test_threads_that_look_together_in_vain_are_named(run, kernel):
    status = run(kernel, 2, 32, np.zeros(1, np.int32), np.zeros(1, np.int32), patience=50_000_000)
    assert status.code < SPINS
    assert (status.block, status.thread) == ((0, 0, 0), (0, 0, 0))
