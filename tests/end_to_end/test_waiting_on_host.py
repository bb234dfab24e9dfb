"""Kernels on the host whose blocks wait for each other: launched in every way, refused as a GPU does, and stopped."""

# mypy: ignore-errors
from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.conftest import fresh_session
from tests.programs import run_python


@pytest.fixture(autouse=True, params=["1", "2"])
def on_host(monkeypatch, request):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", request.param)
    fresh_session()


@gridjit.jit
def rows_in_turn(rows):
    column, grid = cuda.grid(1), cuda.cg.this_grid()
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
        grid.sync()


def test_a_grid_is_synchronized_in_every_launch_of_a_kernel():
    for _ in range(5):
        rows = np.zeros((64, 256), np.int32)
        rows_in_turn[8, 32](rows)
        assert (rows == np.arange(64)[:, None]).all()
    (overload,) = rows_in_turn.overloads.values()
    assert overload.cooperative


def test_a_kernel_that_synchronizes_the_grid_comes_from_disk(monkeypatch):
    gridjit.jit(rows_in_turn.py_func)[8, 32](np.zeros((64, 256), np.int32))
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    fresh_session()
    rows = np.zeros((64, 256), np.int32)
    gridjit.jit(rows_in_turn.py_func)[8, 32](rows)
    assert (rows == np.arange(64)[:, None]).all()


def test_as_many_blocks_are_resident_as_the_simulated_gpu_holds(monkeypatch):
    rows_in_turn[8, 32](np.zeros((64, 256), np.int32))
    (overload,) = rows_in_turn.overloads.values()
    shapes = (256, (16, 16), (16, 4, 4))
    assert {overload.max_cooperative_grid_blocks(shape) for shape in shapes} == {8 * 132}
    assert overload.max_cooperative_grid_blocks(32, 100_000) == 2 * 132
    with pytest.raises(
        gridjit.LaunchError, match=r"at most 1056 blocks of 256 .*COOPERATIVE_LAUNCH_TOO_LARGE"
    ) as caught:
        rows_in_turn[1057, 256](np.zeros((2, 1057 * 256), np.int32))
    assert caught.value.code == 720
    rows = np.zeros((2, 1056 * 256), np.int32)
    rows_in_turn[1056, 256](rows)
    assert (rows[1] == 1).all()


def test_a_grid_may_be_larger_where_limits_are_off(monkeypatch):
    monkeypatch.setenv("GRIDJIT_HOST_LIMITS", "0")
    fresh_session()
    rows = np.zeros((2, 1057 * 256), np.int32)
    gridjit.jit(rows_in_turn.py_func)[1057, 256](rows)
    assert (rows[1] == 1).all()


@gridjit.jit
def plain(x):
    x[cuda.grid(1)] = 1


def test_a_kernel_that_does_not_synchronize_may_be_launched_cooperatively():
    x = np.zeros(64)
    plain.configure(2, 32, cooperative=True)(x)
    assert (x == 1).all()
    with pytest.raises(gridjit.LaunchError, match="COOPERATIVE_LAUNCH_TOO_LARGE"):
        plain.configure(100_000, 32, cooperative=True)(x)


@gridjit.jit(device=True)
def acquire(lock):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # acquires
        pass


@gridjit.jit
def locked(lock, x):
    acquire(lock)
    x[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def test_a_lock_in_a_device_function_holds_in_every_launch_of_a_kernel():
    for _ in range(5):
        lock, x = np.zeros(1, np.int32), np.zeros(1)
        locked[100, 32](lock, x)
        assert x[0] == 3200


@gridjit.jit
def flagged(flag, x):
    if cuda.threadIdx.x == 5:
        while True:
            seen = cuda.atomic.add(flag, 0, 0)  # asks
            if seen > 0:
                break
    cuda.syncthreads()
    x[0] = 1


@gridjit.jit
def naps(flag, x):
    if cuda.threadIdx.x == 5:
        while flag[0] == 0:  # looks
            cuda.nanosleep(100)
    x[0] = 1


@gridjit.jit
def looks(flag, x):
    if cuda.threadIdx.x == 5:
        while flag[0] == 0:  # reads
            pass
    x[0] = 1


@pytest.mark.some(1)
@pytest.mark.parametrize(("kernel", "mark"), [(naps, "looks"), (flagged, "asks")])
def test_a_wait_in_vain_of_a_checked_kernel_names_the_line(monkeypatch, kernel, mark):
    monkeypatch.setenv("GRIDJIT_HOST_PATIENCE", "0.05")
    fresh_session()
    line = line_of(mark)
    # Python asks a loop's condition again at the end of its body.
    with pytest.raises(gridjit.LaunchError, match=rf"waits in a loop, at .*:({line}|{line + 1}), and no thread"):
        gridjit.jit(kernel.py_func, debug=True, opt=False)[1, 32](np.zeros(1, np.int32), np.zeros(1))


def line_of(words):
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(f"# {words}"))


@pytest.mark.each_value_once
@pytest.mark.parametrize("earlier", [0, 4], ids=["first launch", "later launch"])
@pytest.mark.parametrize(
    ("kernel", "mark"), [(locked, "acquires"), (flagged, "asks"), (naps, "looks"), (looks, "reads")]
)
def test_a_wait_in_vain_names_its_kernel_block_thread_and_line(monkeypatch, kernel, mark, earlier):
    monkeypatch.setenv("GRIDJIT_HOST_PATIENCE", "0.05")
    fresh_session()
    kernel = gridjit.jit(kernel.py_func)
    free, taken = (0, 1) if mark == "acquires" else (1, 0)
    for _ in range(earlier):
        kernel[3, 32](np.full(1, free, np.int32), np.zeros(1))
    thread = 0 if mark == "acquires" else 5
    words = (
        rf"{kernel.py_func.__name__}, tid=\[{thread}, 0, 0\] ctaid=\[0, 0, 0\].*{re.escape(__file__)}:{line_of(mark)},"
    )
    with pytest.raises(gridjit.LaunchError, match=words):
        kernel[3, 32](np.full(1, taken, np.int32), np.zeros(1))
    x = np.zeros(1)
    kernel[3, 32](np.full(1, free, np.int32), x)
    assert x[0] > 0


FORKS = """
import os
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def rows_in_turn(rows):
    column, grid = cuda.grid(1), cuda.cg.this_grid()
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
        grid.sync()

@gridjit.jit(target="host")
def locked(lock, x):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.atomic.exch(lock, 0, 0)

def both():
    rows, x = np.zeros((64, 256), np.int32), np.zeros(1)
    rows_in_turn[8, 32](rows)
    locked[8, 32](np.zeros(1, np.int32), x)
    return (rows == np.arange(64)[:, None]).all() and x[0] == 256

for _ in range(4):
    assert both()
if (child := os.fork()) == 0:
    os._exit(0 if both() and both() else 1)
print(os.waitpid(child, 0)[1], both())
"""


@pytest.mark.some(1)
def test_a_forked_child_launches_kernels_whose_blocks_wait():
    done = run_python("-W", "ignore::DeprecationWarning", "-c", FORKS)  # of forks, from Python 3.12 on
    assert (done.stderr, done.stdout) == ("", "0 True\n")
