"""Whether another thread ran is told by the processor time that it has used."""

from __future__ import annotations

import threading
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable

import pytest

from gridjit.base.forking import nobody_else_ran, thread_times


class Worker:
    """A thread of the program that waits, and runs one step each time it is told to."""

    def __init__(self, name: str) -> None:
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def step(self) -> None:
        self._go.release()
        self._done.acquire()

    def _work(self) -> None:
        while self._go.acquire():
            self._done.release()


def settled() -> Callable[[], bool]:
    """Return whether nobody else ran since the other threads came to wait."""
    for _ in range(1_000_000):
        before = thread_times()
        if nobody_else_ran(before) and nobody_else_ran(before):
            return lambda: nobody_else_ran(before)
    raise AssertionError("another thread runs all the time")


def test_a_thread_that_waits_does_not_count_and_one_that_ran_does() -> None:
    worker = Worker("program's")
    waits = settled()
    assert waits()
    worker.step()
    assert not waits()


def test_a_thread_that_was_started_since_counts() -> None:
    waits = settled()
    Worker("program's").step()
    assert not waits()


def test_gridjits_own_threads_do_not_count() -> None:
    worker = Worker("gridjit-grid-0")
    waits = settled()
    worker.step()
    assert waits()


def test_a_thread_whose_time_the_system_does_not_tell_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    Worker("program's")
    monkeypatch.setattr("time.clock_gettime_ns", refuses)
    assert not nobody_else_ran(thread_times())


def refuses(_: int) -> int:
    raise OSError


def test_a_thread_that_threading_did_not_start_counts_until_it_ends_and_no_longer() -> None:
    known, over, ended = allocate_lock(), allocate_lock(), allocate_lock()
    for one in (known, over, ended):
        one.acquire()

    def work() -> None:
        threading.current_thread()  # has something stand for this thread, for ever
        known.release()
        over.acquire()
        ended.release()

    before = len(thread_times())
    start_new_thread(work, ())
    known.acquire()
    during = len(thread_times())
    over.release()
    ended.acquire()
    assert during == before + 1
    assert any(len(thread_times()) == before for _ in range(1_000_000))  # it may still be at its last steps
