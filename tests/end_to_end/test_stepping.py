"""GRIDJIT_HOST_STEP=1: kernels are run as plain Python, thread by thread, and do what they do compiled."""

# mypy: ignore-errors
from __future__ import annotations

import signal
import sys
import threading
import traceback

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.specialize import cold
from gridjit.runtime.stepping import block
from tests.shown import users_files


@pytest.fixture(autouse=True)
def stepping(cache_dir, monkeypatch, restart):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_HOST_STEP", "1")
    restart()


@pytest.fixture
def compiled(monkeypatch, restart):
    """Return what runs a kernel compiled."""

    def run(kernel, config, *args):
        monkeypatch.setenv("GRIDJIT_HOST_STEP", "0")
        restart()
        kernel[config](*args)

    return run


SCALE = 3


@gridjit.jit(device=True)
def scaled(value):
    return value * SCALE


def tiles(x, out):
    tile = cuda.shared.array(8, np.float32)
    more = cuda.shared.array(0, np.int32)
    t = cuda.threadIdx.x
    for turn in range(2):
        tile[t] = x[cuda.grid(1)] + turn
        more[t] = t
        cuda.syncthreads()
        out[cuda.grid(1)] += scaled(tile[7 - t]) + more[7 - t]
        cuda.syncthreads()


def counts(x, bins):
    own = cuda.local.array(2, np.int64)
    i, j = cuda.grid(2)
    own[0] = x[i, j] % 4
    cuda.atomic.add(bins, own[0], 1)
    cuda.atomic.max(bins, 4, x[i, j])
    if i == 0 and j == 0:
        bins[5] = cuda.gridsize(2)[0] * gridjit.static.blockDim.y + cuda.blockDim.x


record = np.dtype([("id", np.int32), ("at", np.float64)], align=True)


def records(x):
    i = cuda.grid(1)
    x[i].at = x[i].id * 0.5
    x[i]["id"] = -1


def numbas_types(out):
    tile = cuda.shared.array(4, cuda.int32)
    tile[cuda.threadIdx.x] = cuda.threadIdx.x
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[3 - cuda.threadIdx.x]


ldcs = cuda.ldcs


def hinted(x, out):
    i = cuda.grid(1)
    cuda.stwt(out, i, cuda.ldca(x, (i, 0)) + ldcs(x, (i, 1)))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("function", "config", "make"),
    [
        (tiles, (2, 8, 0, 32), lambda: (np.arange(16, dtype=np.float32), np.zeros(16))),
        (counts, ((2, 2), (2, 2)), lambda: (np.arange(16).reshape(4, 4), np.zeros(6, np.int64))),
        (records, (1, 4), lambda: (np.array([(n, 0) for n in range(4)], record),)),
        (numbas_types, (1, 4), lambda: (np.zeros(4),)),
        (hinted, (1, 4), lambda: (np.arange(8).reshape(4, 2), np.zeros(4))),
    ],
)
def test_a_kernel_does_what_it_does_compiled(function, config, make, compiled):
    kernel, stepped, run = gridjit.jit(function), make(), make()
    kernel[config](*stepped)
    compiled(kernel, config, *run)
    for one, other in zip(stepped, run, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(cold, "specialize", None)
    kernel, x = gridjit.jit(numbas_types), cuda.device_array(4)
    kernel[1, 4](x)
    assert x.copy_to_host().tolist() == [3, 2, 1, 0]
    assert kernel.stats.compiles == 0


def stops(x):
    i = cuda.grid(1)
    if i == 5:
        breakpoint()
    x[i] = i


floor = cuda.libdevice.floor


def floors(x):
    x[0] = floor(x[0])


def floors_by_module(x):
    x[0] = cuda.libdevice.floor(x[0])


@pytest.mark.parametrize("function", [floors, floors_by_module])
def test_functions_of_libdevice_cannot_be_stepped_through(function):
    with pytest.raises(gridjit.UnsupportedError, match="cannot be stepped through; unset GRIDJIT_HOST_STEP"):
        gridjit.jit(function)[1, 1](np.ones(1))


def test_breakpoint_stops_in_the_thread_with_its_variables_and_may_change_arrays(monkeypatch):
    seen = []

    def hook():
        frame = sys._getframe(1)
        seen.append((frame.f_code, frame.f_locals["i"], cuda.DeviceArray, frame.f_locals["x"].tolist()))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    gridjit.jit(stops)[2, 4](np.zeros(8))
    assert [(code, i, x) for code, i, _, x in seen] == [(stops.__code__, 5, [0, 1, 2, 3, 4, 0, 0, 0])]


def test_a_debuggers_trace_function_sees_each_thread():
    called = set()

    def trace(frame, event, argument):
        if frame.f_code is stops.__code__:
            called.add(threading.get_ident())

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        gridjit.jit(numbas_types)[1, 4](np.zeros(4))
        gridjit.jit(stops)[1, 4](np.zeros(4))
    finally:
        sys.settrace(before)
    assert len(called) == 4


def outside(x):
    x[cuda.grid(1)] = 1


def test_an_exception_names_the_thread_and_shows_the_line():
    with pytest.raises(IndexError, match=r"outside, tid=\[4, 0, 0\] ctaid=\[1, 0, 0\]: index 20") as caught:
        gridjit.jit(outside)[2, 16](np.zeros(20))
    frames = [frame.f_code for frame, _ in traceback.walk_tb(caught.value.__cause__.__traceback__)]
    assert frames[-1] is outside.__code__


def apart(x):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()


def test_an_exception_shows_the_users_frames_and_no_others():
    with pytest.raises(TypeError) as caught:
        gridjit.jit(asks_a_library)[1, 4](np.zeros(4))
    assert users_files(caught.value) == users_files(caught.value.__cause__) == {__file__}


def block_size():
    return cuda.blockDim.x


@cuda.extending.overload(block_size)
def overload_block_size():
    return block_size


def test_an_overload_that_returns_its_own_function_is_stepped_through(compiled):
    @gridjit.jit
    def asks(out):
        out[cuda.grid(1)] = block_size()

    stepped, native = np.zeros(4), np.zeros(4)
    asks[1, 4](stepped)
    compiled(asks, (1, 4), native)
    assert stepped.tolist() == native.tolist() == [4.0] * 4


def only_in_kernels():
    raise TypeError("only_in_kernels is called in kernels")


def asks_a_library(out):
    out[0] = only_in_kernels()


def test_threads_that_wait_at_different_barriers_are_an_error_not_a_hang():
    with pytest.raises(gridjit.LaunchError, match="wait at different barriers"):
        gridjit.jit(apart)[1, 4](np.zeros(1))


def locked(lock, x):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    x[0] += 1
    cuda.atomic.exch(lock, 0, 0)


def waits_for_the_last(flag, x):
    while cuda.atomic.cas(flag, 0, 1, 1) != 1:
        if cuda.threadIdx.x == 3:
            cuda.atomic.exch(flag, 0, 1)
    cuda.atomic.add(x, 0, 1)


def looks_by_adding_nothing(flag, x):
    i = cuda.threadIdx.x
    if i == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        x[0] = 5
    elif i == 1:
        cuda.atomic.max(flag, 0, 1)


def test_a_thread_that_looks_with_an_atomic_operation_that_changes_nothing_lets_others_run():
    x = np.zeros(1)
    gridjit.jit(looks_by_adding_nothing)[1, 2](np.zeros(1, np.int32), x)
    assert x[0] == 5


def test_locks_and_waits_for_other_threads_end():
    x = np.zeros(1)
    gridjit.jit(locked)[2, 8](np.zeros(1, np.int32), x)
    gridjit.jit(waits_for_the_last)[1, 4](np.zeros(1, np.int32), x)
    assert x[0] == 20


def in_warps(x, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.shfl_down_sync(0xFFFFFFFF, x[t], 1)
    out[t, 1] = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 1)
    out[t, 2] = cuda.ballot_sync(0xFFFFFFFF, t % 2)
    out[t, 3] = cuda.syncthreads_count(t < 5)
    if t >= 32:
        cuda.syncwarp()
    out[t, 4] = cuda.laneid


def test_warps_exchange_values():
    out = np.zeros((64, 5), np.int64)
    gridjit.jit(in_warps)[1, 64](np.arange(64), out)
    last = 0xAAAAAAAA - (1 << 32)  # numba's numbers of lanes have a sign
    assert out[31].tolist() == [31, 30, last, 5, 31]
    assert out[32].tolist() == [33, 33, last, 5, 0]


def by_masks(out, n):
    t = cuda.threadIdx.x
    v = t
    for _ in range(n):
        even = cuda.ballot_sync(0xFFFFFFFF, v % 2 == 0)
        if t % 32 < 16:
            v += cuda.shfl_up_sync(0xFFFF, v, 3)
        v += cuda.popc(even)
    out[t, 0] = v


def by_one_mask_in_two_places(out, n):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t, 0] = cuda.shfl_xor_sync(0xFFFFFFFF, t + n, 1)
    else:
        out[t, 0] = cuda.shfl_xor_sync(0xFFFFFFFF, t * n, 1)


def by_those_who_come(out, n):
    t = cuda.threadIdx.x
    if t // 2 % n:
        mask = cuda.activemask()
        out[t, 0] = mask
        out[t, 1] = cuda.shfl_xor_sync(mask, t, 1)


def by_bits(out, n):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.ballot_sync(0xFFFFFFFF, t % n != 0)
    out[t, 1] = cuda.popc(cuda.match_any_sync(0xFFFFFFFF, t // n * n))
    out[t, 2] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, t % n != 0)) + cuda.match_all_sync(0xFFFFFFFF, n)[0]
    out[t, 3] = cuda.clz(cuda.ballot_sync(0xFFFFFFFF, t < n))


@pytest.mark.some(2)
@pytest.mark.parametrize("kernel", [by_masks, by_one_mask_in_two_places, by_those_who_come, by_bits])
def test_lanes_wait_for_those_that_their_masks_name_as_they_do_compiled(kernel, compiled):
    stepped, native = np.zeros((64, 4), np.int64), np.zeros((64, 4), np.int64)
    gridjit.jit(kernel)[1, 64](stepped, 3)
    compiled(gridjit.jit(kernel), (1, 64), native, 3)
    np.testing.assert_array_equal(stepped, native)


def bits_of_positions(out, numbers):
    i = cuda.threadIdx.x
    out[0, i] = cuda.clz(i)
    out[1, i] = cuda.clz(cuda.blockDim.x) + 100 * cuda.clz(cuda.laneid) + 10000 * cuda.clz(cuda.warpsize)
    out[2, i] = cuda.clz(i + 1) + 100 * cuda.clz(-i) + 10000 * cuda.clz(abs(i))
    out[3, i] = cuda.clz(gridjit.static.blockDim.x) + 100 * cuda.clz(cuda.grid(1))
    out[4, i] = cuda.clz(cuda.clz(i)) + 100 * cuda.clz(cuda.popc(i)) + 10000 * cuda.clz(cuda.ffs(numbers[i]))
    out[5, i] = cuda.clz(cuda.lanemask_lt()) + 100 * cuda.clz(cuda.activemask()) + 10000 * cuda.clz(i > 1)
    out[6, i] = cuda.brev(i) + cuda.clz(cuda.brev(i))
    out[7, i] = cuda.brev(numbers[i]) - cuda.clz(numbers[i])
    out[8, i] = cuda.popc(~cuda.activemask()) + 100 * cuda.popc(~cuda.lanemask_lt()) + 10000 * cuda.clz(~cuda.brev(i))
    out[9, i] = cuda.clz(cuda.syncthreads_count(i)) + 100 * cuda.clz(cuda.syncthreads_and(i))


def test_a_function_without_a_module_is_called_as_python():
    names = {"cuda": cuda}
    exec("def helper(a):\n    return a + 1\n\ndef kernel(x):\n    x[0] = helper(x[0])\n", names)
    assert names["helper"].__module__ is None
    gridjit.jit(names["kernel"])[1, 1](x := np.zeros(1))
    assert x[0] == 1


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64])
def test_bits_are_counted_in_as_many_as_a_number_has_compiled(dtype, compiled):
    numbers, stepped, native = np.arange(40, dtype=dtype), np.zeros((10, 40), np.int64), np.zeros((10, 40), np.int64)
    gridjit.jit(bits_of_positions)[1, 40](stepped, numbers)
    compiled(gridjit.jit(bits_of_positions), (1, 40), native, numbers)
    np.testing.assert_array_equal(stepped, native)


def passes_on_in_shared_memory(out, n):
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    tile[t] = t
    for _ in range(n):
        cuda.syncwarp()
        other = tile[t ^ 31]
        cuda.syncwarp()
        tile[t] += other
    out[t, 0] = tile[t]


def test_lanes_that_exchange_through_shared_memory_with_syncwarp_get_stepped_what_they_get_compiled(compiled):
    stepped, native = np.zeros((64, 1), np.int64), np.zeros((64, 1), np.int64)
    gridjit.jit(passes_on_in_shared_memory)[1, 64](stepped, 3)
    compiled(gridjit.jit(passes_on_in_shared_memory), (1, 64), native, 3)
    np.testing.assert_array_equal(stepped, native)
    assert len(set(native[:, 0])) > 1


def lacking(out):
    if cuda.threadIdx.x < 16:
        cuda.syncwarp(0xFFFFFFFF)
    else:
        cuda.syncthreads()
    out[0] = 1


def test_lanes_whose_masks_name_others_that_never_come_are_an_error_not_a_hang():
    with pytest.raises(gridjit.LaunchError, match="waits for lanes of its warp which its mask names"):
        gridjit.jit(lacking)[1, 32](np.zeros(1))


def spins(x):
    while x[0] == 0:
        pass


SOON_S = 60.0


@pytest.fixture
def started(monkeypatch):
    """The threads that are started to step through kernels: an event for each, set when it ends."""
    start, started = block.on_new_thread, []

    def starting(run):
        started.append(threading.Event())
        ended = started[-1]
        start(lambda: (run(), ended.set()))

    monkeypatch.setattr(block, "on_new_thread", starting)
    return started


def test_an_interrupt_ends_a_thread_that_never_does(started):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            gridjit.jit(spins)[1, 4](np.zeros(1))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [ended.wait(SOON_S) for ended in started] == [True] * 4


class Interrupted(BaseException):
    """What comes while threads are started."""


@pytest.mark.parametrize(
    ("came", "raised", "says"),
    [
        (Interrupted("now"), Interrupted, "now"),
        (RuntimeError("can't start new thread"), gridjit.LaunchError, "4 threads .* no more than 2; launch smaller"),
    ],
)
def test_what_comes_while_threads_start_ends_those_that_did_and_none_runs(started, monkeypatch, came, raised, says):
    start = block.on_new_thread

    def starts_two(run):
        if len(started) == 2:
            raise came
        start(run)

    monkeypatch.setattr(block, "on_new_thread", starts_two)
    x = np.zeros(4)
    with pytest.raises(raised, match=says):
        gridjit.jit(outside)[1, 4](x)
    assert ([ended.wait(SOON_S) for ended in started], x.tolist()) == ([True] * 2, [0.0] * 4)


def test_what_was_passed_as_in_stays_as_it_is():
    x = np.zeros(8)
    gridjit.jit(outside)[1, 8](cuda.In(x))
    assert not x.any()


def test_callbacks_are_called_before_a_kernel_is_stepped_through():
    called = []
    launch = gridjit.jit(outside)[1, 8]
    launch.pre_launch_callbacks.append(lambda kernel, config: called.append(kernel.__name__))
    launch(np.zeros(8))
    assert called == ["outside"]
