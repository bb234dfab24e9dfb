"""Grids far larger than what there is to do: blocks that no thread passes the guard of cost next to nothing."""

# mypy: ignore-errors
from __future__ import annotations

import dataclasses
import signal
import threading

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.runtime.devices.host import launch as dealing
from tests.runtime.host.conftest import pack
from tests.runtime.host.oracle import run_in_python

MOST = 2**31 - 1


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", "2")


@pytest.fixture
def stopped():
    """End what would run for minutes."""

    def refuse(number, frame):
        raise AssertionError("blocks that do nothing are run")

    before = signal.signal(signal.SIGALRM, refuse)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def up_to(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] += 1


def returned(x, n):
    i = cuda.grid(1)
    if i >= n or i < 3:
        return
    x[i] += 1


def at_a_barrier(x, n):
    tile = cuda.shared.array(64, np.int64)
    i = cuda.grid(1)
    if i >= n:
        return
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    x[i] = tile[cuda.threadIdx.x] + 1


def raises(x, n):
    i = cuda.grid(1)
    if i < n:
        if x[i] < 0:
            raise ValueError("less than nothing")
        x[i] += 1


def behind_a_load(x, n):
    limit = x[0]
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(x, i, limit * 0 + 1)


def every_other(x, n):
    i = cuda.grid(1)
    if i < n and i % 2 == 0:
        x[i] += 1


def in_steps_of_the_grid(x, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] += 1


def the_last_blocks(x, n):
    i = cuda.grid(1)
    j = i - (cuda.gridsize(1) - n)
    if j >= 0:
        x[j] += 1


def one_block(x, n):
    if cuda.blockIdx.x == cuda.gridDim.x // 3:
        cuda.atomic.add(x, cuda.threadIdx.x, n)


def all_blocks_but_some(x, n):
    i = cuda.grid(1)
    if i * i < n:
        cuda.atomic.add(x, 0, 1)


def unsigned(x, n):
    i = np.uint32(cuda.grid(1))
    if i < np.uint32(n):
        x[i] += 1


def in_a_plane(x, n):
    i, j = cuda.grid(2)
    if i < n and j < 3:
        cuda.atomic.add(x, i, j + 1)


def in_a_plane_at_a_barrier(x, n):
    tile = cuda.shared.array((8, 8), np.int64)
    i, j = cuda.grid(2)
    if i >= n or j >= 3:
        return
    tile[cuda.threadIdx.x, cuda.threadIdx.y] = j + 1
    cuda.syncthreads()
    cuda.atomic.add(x, i, tile[cuda.threadIdx.x, cuda.threadIdx.y])


def in_a_volume(x, n):
    i, j, k = cuda.grid(3)
    if k < 2 and j < 3 and i < n:
        cuda.atomic.add(x, i, j + k)


def by_their_numbers(x, n):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    b = cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y
    i = b * cuda.blockDim.x * cuda.blockDim.y + t
    if i < n:
        x[i] += 1


LINES = (
    up_to, returned, at_a_barrier, raises, behind_a_load, every_other, in_steps_of_the_grid, the_last_blocks, one_block,
    all_blocks_but_some, unsigned,
)  # fmt: skip
PLANES = (in_a_plane, in_a_plane_at_a_barrier, in_a_volume, by_their_numbers)
# More blocks than it takes to ask of the whole grid, of a part of it, and of neither.
LINE_SHAPES = ((5000, 2), (300, 5), (20, 7))
PLANE_SHAPES = (((70, 64), (2, 1)), ((3, 40, 40), (1, 2)), ((40, 5, 3), (2, 2)), ((200, 2), (3, 2)))


def compared(run, kernel, grid, block, n):
    x = np.zeros(20000, np.int64)
    expected = x.copy()
    assert run(kernel, grid, block, x, n) is None
    run_in_python(_alone(kernel), grid, block, expected, n)
    np.testing.assert_array_equal(x, expected)


def _alone(kernel):
    """A kernel without barriers that does the same."""
    return {at_a_barrier: up_to, in_a_plane_at_a_barrier: in_a_plane, behind_a_load: up_to}.get(kernel, kernel)


@pytest.mark.some(5)
@pytest.mark.parametrize("kernel", LINES, ids=lambda kernel: kernel.__name__)
def test_of_many_blocks_in_a_line_those_are_run_that_do_something(run, kernel):
    for grid, block in LINE_SHAPES:
        for n in (0, 1, 64, 65, 9990):
            compared(run, kernel, grid, block, min(n, grid * block))


@pytest.mark.some(2)
@pytest.mark.parametrize("kernel", PLANES, ids=lambda kernel: kernel.__name__)
def test_of_many_blocks_in_planes_those_are_run_that_do_something(run, kernel):
    for grid, block in PLANE_SHAPES:
        for n in (0, 1, 7, 100):
            compared(run, kernel, grid, block, n)


@pytest.mark.parametrize("checks", [False, True], ids=["plain", "debug"])
@pytest.mark.parametrize("kernel", [up_to, returned, at_a_barrier, raises], ids=lambda kernel: kernel.__name__)
def test_python_deals_only_the_blocks_that_do_something(loaded, kernel, checks):
    x, dealt, real = np.zeros(1000, np.int64), [], 1000 // 64 + 1
    function, signature, _ = loaded(kernel, (x, 1000), Options(debug=checks, opt=not checks))

    def call(params, launch, first, last, status):
        dealt.append(max(last - first, 0))
        return function.call(params, launch, first, last, status)

    counting = dataclasses.replace(function, call=call)
    config = LaunchConfig.of(1 << 24, 64, 0)
    assert dealing.launch(counting, config, pack(signature, (x, 1000)), 0, 2) is None
    assert x.sum() == (997 if kernel is returned else 1000)
    assert sum(dealt) <= real


@pytest.mark.each_value_once
@pytest.mark.parametrize("native", ["0", "1"], ids=["from Python", "in machine code"])
@pytest.mark.parametrize("kernel", [*LINES[:5], the_last_blocks, one_block], ids=lambda kernel: kernel.__name__)
def test_the_largest_grid_takes_no_longer_than_what_its_threads_do(stopped, monkeypatch, kernel, native):
    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", native)
    x = np.zeros(1000, np.int64)
    made = gridjit.jit(kernel)
    for turn in range(1, 5):
        made[MOST, 64](x, 1000)
        assert x.max() == (1000 if kernel is one_block else 1) * turn


def test_the_largest_grid_of_a_debug_kernel_takes_no_longer_than_what_its_threads_do(stopped):
    x = np.zeros(1000, np.int64)
    gridjit.jit(at_a_barrier, debug=True, opt=False)[MOST, 64](x, 1000)
    assert x.tolist() == [1] * 1000


@pytest.mark.parametrize("native", ["0", "1"], ids=["from Python", "in machine code"])
def test_blocks_that_do_nothing_in_each_of_many_rows_cost_next_to_nothing(stopped, monkeypatch, native):
    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", native)
    x = np.zeros(50, np.int64)
    gridjit.jit(in_a_plane_at_a_barrier)[(1 << 22, 1 << 9), (8, 8)](x, 50)
    assert x.tolist() == [6] * 50
    gridjit.jit(in_a_volume)[(1, 1 << 15, 1 << 15), (64, 1)](x, 50)
    assert x.tolist() == [6 + 9] * 50


def test_an_empty_kernel_of_the_largest_grid_ends_at_once_from_python(stopped, monkeypatch):
    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", "0")

    @gridjit.jit
    def nothing(x):
        pass

    nothing[MOST, 256](np.zeros(1))


def test_an_interrupt_ends_helpers_too_where_python_deals_the_blocks(run, monkeypatch):
    began, dealt = threading.Event(), []
    some = dealing._Run.some

    def watched(self, first, last):
        if threading.current_thread() is not threading.main_thread():
            began.set()
            dealt.append(first)
        elif first > 0 and began.wait(10):
            raise KeyboardInterrupt
        return some(self, first, last)

    monkeypatch.setattr(dealing._Run, "some", watched)
    monkeypatch.setattr(dealing, "_WORTH_HELP_S", 0.0)
    monkeypatch.setattr(dealing, "_CHUNK_S", 0.0)
    monkeypatch.setattr(dealing, "_BRIEF_S", 0.0)
    x = np.zeros(1, np.int64)
    with pytest.raises(KeyboardInterrupt):
        run(all_blocks_but_some, 1 << 20, 1, x, 1 << 60)
    assert len(dealt) < 1 << 19
