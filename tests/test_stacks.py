"""New threads begin, whatever becomes of the first: what they are to do is done, and done once."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable

import numpy as np
import pytest

import gridjit
from gridjit import cuda, interrupts, stacks
from gridjit.runtime.devices.host.pool import ThreadPool

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
