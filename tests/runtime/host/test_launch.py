"""Launching on the host: any thread, any number of threads, forked children, objects of one name, uneven blocks."""

# mypy: ignore-errors
from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.host.launch import launch
from gridjit.runtime.devices.host.load import load

cuda = numba_cuda()


def increment(x, by):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += by


def make_doubling():
    def increment(x, by):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = x[i] * 2

    return increment


def uneven(x, work):
    i = cuda.grid(1)
    value = x[i]
    for _ in range(work * cuda.blockIdx.x):
        value = (value * 5 + 1) % 1000003
    x[i] = value


@pytest.fixture
def increment_code(compiled):
    return compiled(increment, (np.zeros(1, np.int64), 1))


def test_a_launch_takes_bytes_bytearrays_and_ctypes_buffers(increment_code, packed):
    import ctypes

    x = np.zeros(100, np.int64)
    function = load(increment_code.image, increment_code.entry)
    params = packed(x, 1)
    for form in (params, bytearray(params), ctypes.create_string_buffer(params, len(params))):
        launch(function, LaunchConfig.of(4, 32), form, 0, 2)
    assert x.tolist() == [3] * 100


def test_what_keeps_blocks_from_being_run_is_raised_whichever_thread_runs_them():
    class Full:
        name = "full"

        def call(self, *_):
            raise MemoryError("no room for a block")

    for stop in (None, lambda threads: True):
        with pytest.raises(MemoryError, match="no room for a block"):
            launch(Full(), LaunchConfig.of(4, 32), b"", 0, 1, stop)


def refuses_without_arguments():
    if cuda.grid(1) == 69:
        raise ValueError("the seventieth thread")


def test_no_block_runs_any_more_when_an_interrupted_launch_ends_however_its_end_is_interrupted():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    asked = []

    class Long:
        name = "gridjit.long"

        def call(self, *_):
            begun.set()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            may_end.wait(60)
            ended.set()
            return 0

    def interrupt(*_):
        raise KeyboardInterrupt

    def stop(threads):
        asked.append(set(threads))
        if len(asked) < 3:
            raise (SystemExit, MemoryError)[len(asked) - 1]
        may_end.set()
        return False

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(MemoryError) as raised:
            launch(Long(), LaunchConfig.of(1, 32), b"", 0, 1, stop)
        assert begun.is_set() and ended.is_set() and len(asked) == 3
        assert isinstance(raised.value.__context__, BaseException)
    finally:
        may_end.set()
        signal.signal(signal.SIGUSR1, before)


def test_a_kernel_without_arguments_runs(compiled):
    code = compiled(refuses_without_arguments, ())
    function = load(code.image, code.entry)
    assert launch(function, LaunchConfig.of(2, 32), b"", 0, 2) is None
    status = launch(function, LaunchConfig.of(3, 32), b"", 0, 2)
    assert (status.block, status.thread) == ((2, 0, 0), (5, 0, 0))


def test_a_read_only_view_of_parameters_is_accepted(increment_code, packed):
    x = np.zeros(10, np.int64)
    launch(load(increment_code.image, increment_code.entry), LaunchConfig.of(1, 32), memoryview(packed(x, 1)), 0, 1)
    assert x.tolist() == [1] * 10


def test_two_objects_with_one_entry_name_live_side_by_side(compiled, packed, increment_code):
    other = compiled(make_doubling(), (np.zeros(1, np.int64), 1))
    x = np.ones(10, np.int64)
    first = load(increment_code.image, increment_code.entry)
    again = load(increment_code.image, increment_code.entry)
    second = load(other.image, other.entry)
    for function in (first, second, again):
        launch(function, LaunchConfig.of(1, 32), packed(x, 3), 0, 1)
    assert first.address != again.address
    assert x.tolist() == [11] * 10


def test_a_dropped_function_leaves_the_others_working(increment_code, packed):
    kept = load(increment_code.image, increment_code.entry)
    for _ in range(50):
        load(increment_code.image, increment_code.entry)
    gc.collect()
    x = np.zeros(5, np.int64)
    launch(kept, LaunchConfig.of(1, 8), packed(x, 1), 0, 1)
    assert x.tolist() == [1] * 5


def test_bytes_that_are_not_an_object_are_a_launch_error():
    with pytest.raises(LaunchError, match="does not load"):
        load(b"not an object", "entry")


def test_an_object_without_the_entry_is_a_launch_error(increment_code):
    with pytest.raises(LaunchError, match="missing"):
        load(increment_code.image, "missing")


def test_blocks_of_uneven_work_are_each_run_once(compiled, packed):
    x = np.arange(64 * 8, dtype=np.int64)
    code = compiled(uneven, (x, 200))
    expected = x.copy()
    for turn in range(200 * 63):  # those that have as many turns, all at once
        rest = expected[8 * (turn // 200 + 1) :]
        rest[:] = (rest * 5 + 1) % 1000003
    launch(load(code.image, code.entry), LaunchConfig.of(64, 8), packed(x, 200), 0, 3)
    assert np.array_equal(x, expected)


def test_several_python_threads_launch_at_once(increment_code, packed):
    function = load(increment_code.image, increment_code.entry)
    arrays = [np.zeros(50_000, np.int64) for _ in range(6)]
    start = threading.Barrier(len(arrays))

    def work(x):
        start.wait()
        for _ in range(20):
            launch(function, LaunchConfig.of(400, 128), packed(x, 1), 0, 2)

    workers = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((x == 20).all() for x in arrays)


def test_the_python_threads_run_while_a_kernel_does(compiled, packed):
    x = np.arange(8, dtype=np.int64)
    code = compiled(uneven, (x, 200))
    function = load(code.image, code.entry)
    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(1)

    counter = threading.Thread(target=count)
    counter.start()
    before = len(ticks)
    # One block: it runs on this thread alone, for tens of milliseconds.
    large = np.zeros(8 * 200, np.int64)
    launch(function, LaunchConfig.of(200, 8), packed(large, 200), 0, 1)
    after = len(ticks)
    done.set()
    counter.join()
    assert after > before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_launches_with_threads_of_its_own(increment_code, packed):
    function = load(increment_code.image, increment_code.entry)
    x = np.zeros(3_000_000, np.int64)
    launch(function, LaunchConfig.of(-(-x.size // 128), 128), packed(x, 1), 0, 2)
    child = os.fork()
    if child == 0:
        try:
            launch(function, LaunchConfig.of(-(-x.size // 128), 128), packed(x, 1), 0, 2)
            os._exit(0 if (x == 2).all() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (x == 1).all()


def test_loading_and_launching_import_neither_numba_nor_numpy(increment_code, tmp_path: Path):
    image = tmp_path / "kernel.o"
    image.write_bytes(increment_code.image)
    program = f"""
import sys, struct, ctypes
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.host.launch import launch
from gridjit.runtime.devices.host.load import load
function = load(open({str(image)!r}, "rb").read(), {increment_code.entry!r})
data = (ctypes.c_int64 * 100000)()
params = struct.pack("@PPqqPqqq", 0, 0, 100000, 8, ctypes.addressof(data), 100000, 8, 5)
launch(function, LaunchConfig.of(1000, 100), params, 0, 2)
assert list(data) == [5] * 100000
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"numba", "numpy", "numba_cuda"}}))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr, result.returncode) == ("[]\n", "", 0)


def test_an_interpreter_that_ends_while_helpers_wait_exits_cleanly(increment_code, tmp_path: Path):
    image = tmp_path / "kernel.o"
    image.write_bytes(increment_code.image)
    program = f"""
import atexit, struct, ctypes
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.host.launch import launch
from gridjit.runtime.devices.host.load import load
function = load(open({str(image)!r}, "rb").read(), {increment_code.entry!r})
data = (ctypes.c_int64 * 3000000)()
params = struct.pack("@PPqqPqqq", 0, 0, 3000000, 8, ctypes.addressof(data), 3000000, 8, 5)
run = lambda: launch(function, LaunchConfig.of(30000, 100), params, 0, 2)
atexit.register(lambda: (run(), print(data[2999999])))
run()
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (result.stdout, result.stderr, result.returncode) == ("10\n", "", 0)
