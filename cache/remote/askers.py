"""askers: threads that wait for a network in place of their caller; Behind: a thread that writes behind the program.

A network can hang where no time limit reaches, as in the look-up of a host's name. So a caller waits for a thread, and
goes on without it in the end. All threads are daemons; a forked child begins without any.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gridjit.base.forking import lock
from gridjit.base.interrupts import let_through

Result = TypeVar("Result")

# How many threads wait at once, and how many seconds one without work stays.
MOST_THREADS = 8
IDLE_S = 10.0
# Bytes that may wait to be written.
MOST_WAITING = 64 << 20


class _Task(Generic[Result]):
    """Work for a thread. is_left: its caller went on without it."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self.over = threading.Event()
        self.begun = self.is_left = False
        self.error: Exception | None = None
        self.result: Result

    def do(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:  # of any library: for the caller to see
            self.error = error
        finally:
            self.over.set()


class Askers:
    """Threads that do work for callers that wait for a limited time."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._begin()

    def ask(self, work: Callable[[], Result], seconds: float) -> Result:
        """Return work(), or raise its error; raises TimeoutError if it takes longer."""
        if self._process != os.getpid():
            self._begin()
        task = _Task(work)
        self._add(task)
        if not task.over.wait(max(0.0, seconds)):
            self._leave(task)
            raise TimeoutError(f"no answer within {seconds * 1e3:.0f} ms")
        if task.error is not None:
            raise task.error
        return task.result

    def _begin(self) -> None:
        self._process = os.getpid()
        self._tasks: queue.SimpleQueue[_Task[Any]] = queue.SimpleQueue()
        self._counting = lock()
        self._threads = self._open = 0

    def _add(self, task: _Task[Any]) -> None:
        with self._counting:
            self._open += 1
            starts = self._threads < min(self._open, self._most)
            self._threads += starts
            self._tasks.put(task)  # while the lock is held: a thread ends only if there is no task
        if starts and not _start(self._run):
            with self._counting:
                self._threads -= 1
                task.is_left = not self._threads
            if task.is_left:
                raise TimeoutError("it needs a thread, and there is none to be had")

    def _leave(self, task: _Task[Any]) -> None:
        """Go on without a task; another thread may take the place of the one that does it."""
        with self._counting:
            task.is_left = True
            if task.begun:
                self._threads, self._open = self._threads - 1, self._open - 1

    def _run(self) -> None:
        while (task := self._next()) is not None:
            task.do()
            with self._counting:
                if task.is_left:
                    return
                self._open -= 1

    def _next(self) -> _Task[Any] | None:
        """Return a task whose caller waits; None if the thread is to end."""
        while True:
            try:
                task = self._tasks.get(timeout=IDLE_S)
            except queue.Empty:
                with self._counting:
                    if not self._tasks.empty():
                        continue
                    self._threads -= 1
                    return None
            with self._counting:
                task.begun = not task.is_left
                if task.begun:
                    return task
                self._open -= 1


class Behind:
    """A thread that does works one after the other, while the program goes on.

    most: bytes of works that wait; works beyond are dropped. pause: seconds for which the first of many works is put
    off, unless somebody waits for it: threads of Python take the time from each other.
    """

    def __init__(self, most: int = MOST_WAITING, pause: float = 0.0) -> None:
        self._most, self._pause = most, pause
        self._begin()

    def put(self, size: int, work: Callable[[], object]) -> bool:
        """Do work later, which writes so many bytes; return whether there was room for it."""
        if self._state.process != os.getpid():
            self._begin()
        state = self._state
        with state.changed:
            if state.waiting + size > self._most:
                return False
            state.waiting += size
            state.works.append((size, work))
            if not state.runs and not _start(state.run):
                state.waiting, state.works = 0, []
                return False
            state.runs = True
        return True

    def flush(self, seconds: float) -> bool:
        """Wait until all works are done; return whether they are."""
        return self._state.flush(seconds)

    def give_up(self) -> int:
        """Forget the works that wait; return how many works with bytes are not done, the one under way included."""
        return self._state.give_up()

    def _begin(self) -> None:
        self._state = _Works(self._pause)


class _Works:
    """The works of one process."""

    def __init__(self, pause: float) -> None:
        self.process = os.getpid()
        self.pause = pause
        self.waited_for = 0
        self.changed = threading.Condition(lock())
        self.works: list[tuple[int, Callable[[], object]]] = []
        self.waiting = 0
        self.runs = self.writes = False  # whether a thread does works, and whether it does one with bytes

    def run(self) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.waited_for, self.pause)
        while (next_one := self._next()) is not None:
            size, work = next_one
            try:
                work()
            except Exception as error:  # a warning that the program has raised
                let_through(error)
            finally:
                with self.changed:
                    self.waiting -= size
                    self.writes = False

    def _next(self) -> tuple[int, Callable[[], object]] | None:
        with self.changed:
            if self.works:
                self.writes = self.works[0][0] > 0
                return self.works.pop(0)
            self.runs = False
            self.changed.notify_all()
            return None

    def give_up(self) -> int:
        with self.changed:
            left = [size for size, _ in self.works if size]
            self.works, self.waiting = [], self.waiting - sum(left)
            return len(left) + self.writes

    def flush(self, seconds: float) -> bool:
        if self.process != os.getpid():
            return True
        with self.changed:
            self.waited_for += 1
            self.changed.notify_all()
            try:
                return self.changed.wait_for(lambda: not self.runs, seconds)
            finally:
                self.waited_for -= 1


def _start(run: Callable[[], object]) -> bool:
    """Start a thread; return whether there was one to be had."""
    try:
        threading.Thread(target=run, name="gridjit remote cache", daemon=True).start()
    except RuntimeError:
        return False
    return True
