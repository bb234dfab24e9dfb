"""New threads begin, whatever becomes of the first; what is to be done is done once, and frames have room."""

from __future__ import annotations

import resource
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.base import interrupts, stacks
from gridjit.base.stacks import with_room_for_frames
from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.artifact import Compiled
from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.devices.host.pool import ThreadPool
from gridjit.runtime.specialize.compilation import Compilation

SOON_S = 60.0
Started = list[Callable[[], None]]


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Every other thread ends before its first step, as one does that an interrupt of its starter hits; those."""
    threads: Started = []
    count = 0

    def start(run: Callable[[], None], args: tuple[()]) -> int:
        nonlocal count
        count += 1
        if count % 2 == 0:
            return start_new_thread(run, args)
        threads.append(run)
        return start_new_thread(int, ())

    monkeypatch.setattr(stacks, "start_new_thread", start)
    return threads


def test_what_a_thread_was_to_do_is_done_where_that_thread_is_lost(lost: Started) -> None:
    done = threading.Event()
    stacks.on_new_thread(done.set)
    assert done.wait(SOON_S)
    assert len(lost) == 1


def test_it_is_done_once_where_the_thread_was_only_slow(lost: Started) -> None:
    done: list[int] = []
    interrupts.uninterrupted(lambda: done.append(1))
    for run in lost:
        run()
    assert done == [1]


def test_it_is_done_once_where_there_can_be_no_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: Started = []

    def start(run: Callable[[], None], args: tuple[()]) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(run)

    monkeypatch.setattr(stacks, "start_new_thread", start)
    done: list[int] = []
    interrupts.uninterrupted(lambda: done.append(1))
    for run in started:
        run()
    assert done == [1]


def test_a_pools_threads_help_where_the_first_is_lost(lost: Started) -> None:
    helped = threading.Event()
    ThreadPool().help(helped.set, 1)
    assert helped.wait(SOON_S)
    assert lost


@gridjit.jit(target="host", cache=False)
def doubled(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@pytest.mark.usefixtures("lost")
def test_a_first_launch_and_one_on_a_stream_end_where_their_threads_are_lost() -> None:
    x = np.ones(8)
    doubled[2, 4](x)
    assert x.tolist() == [2] * 8
    stream = cuda.stream()
    moved = cuda.to_device(x, stream=stream)
    doubled[2, 4, stream](moved)
    stream.synchronize()
    assert moved.copy_to_host().tolist() == [4] * 8


def _faults_of_calls(depth: int) -> int:
    """Return how many pages the system maps for two hundred calls, each of which calls one more, so deep in frames."""
    if depth:
        return _faults_of_calls(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        _calls_another()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _calls_another() -> None:
    _does_nothing()


def _does_nothing() -> None:
    pass


def _most_faults() -> int:
    """Return how many it maps at the worst depth, of more than one piece of memory has frames for."""
    return max(map(_faults_of_calls, range(200)))


@pytest.mark.skipif(not (3, 11) <= sys.version_info < (3, 15), reason="this Python maps no memory for calls")
def test_calls_are_slow_at_some_depth_but_with_room_for_frames() -> None:
    assert _most_faults() >= 200
    assert with_room_for_frames(_most_faults) < 100


def test_what_is_called_with_room_for_frames_returns_and_raises_as_ever() -> None:
    assert with_room_for_frames(lambda: "made") == "made"
    with pytest.raises(ZeroDivisionError):
        with_room_for_frames(lambda: 1 // 0)


def test_a_compile_has_room_for_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[int] = []

    def compile_it(kernel: Compilation, job: CompileJob, view: ConfigView) -> Compiled:
        faults.append(_most_faults())
        return original(kernel, job, view)

    original = Compilation._compile_for_args
    monkeypatch.setattr(Compilation, "_compile_for_args", compile_it)

    @gridjit.jit(cache=False)
    def count_up(x):
        x[cuda.grid(1)] += 1

    count_up.compile("void(int64[::1])", target="host")
    assert faults[0] < 100
