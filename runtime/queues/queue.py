"""Queues: work in the order of streams, on threads of this process. A queue does one thing at a time.

A queue has no thread of its own: a free thread, or a new one, serves a queue that has work. A queue that waits for
another is set aside until it may continue. So any number of streams is served, and none waits for a thread.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TypeAlias

from gridjit.base.forking import WeakList, lock
from gridjit.base.stacks import on_new_thread
from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.queues import attention

_Work: TypeAlias = Callable[[], object]
# Bits of a queue's word: it has work; the default stream has work, which comes first; it is closed; it is recorded.
_SERVED, BEHIND, CLOSED, RECORDED = 1, 2, 4, 8
# How long a thread waits for work before it ends.
_IDLE_S = 10.0


class Mark:
    """A place in one queue or several, of an event. time: when all had reached it; 0 before."""

    __slots__ = ("left", "parked", "queues", "time")

    def __init__(self, queues: tuple[Queue, ...]) -> None:
        self.queues = queues
        self.left = len(queues)
        self.parked: list[Queue] = []
        self.time = 0

    @property
    def done(self) -> bool:
        """Whether all its queues have reached it."""
        return self.left <= 0


class Wait:
    """Sets a queue aside until a mark is reached."""

    __slots__ = ("mark",)

    def __init__(self, mark: Mark) -> None:
        self.mark = mark


class Queue:
    """One stream's work. blocking: ordered with the default stream. failure: an error that was not raised yet.

    word: tells machine code whether a launch may be made at once: 0 if no work comes before it.
    """

    __slots__ = ("__weakref__", "blocking", "failure", "is_default", "items", "served", "word")

    def __init__(self, *, blocking: bool = True, is_default: bool = False) -> None:
        self.blocking = blocking
        self.is_default = is_default
        self.word = ctypes.c_int64(0)
        self.items: deque[_Work | Mark | Wait] = deque()
        # Whether it has work, maybe set aside.
        self.served = False
        self.failure: BaseException | None = None
        _known.add(self)

    def note(self, bit: int, holds: bool) -> None:
        """Set or clear a bit of the word."""
        self.word.value = self.word.value | bit if holds else self.word.value & ~bit


_known: WeakList[Queue] = WeakList()


class _Here(threading.local):
    """The queue that the calling thread serves."""

    queue: Queue | None = None


class Queues:
    """All queues' work, and its threads.

    A thread that holds the lock does not wait and drops no object of a program's: the garbage collector may run
    anywhere, and its frees come here too.
    """

    def __init__(self) -> None:
        self._lock = lock()
        self._changed = threading.Condition(self._lock)
        self._ready: SimpleQueue[Queue] = SimpleQueue()
        # Threads that wait for a queue and have none on its way.
        self._free = 0
        # Queues for which no thread could be started.
        self._left_over: list[Queue] = []
        self._here = _Here()
        self.busy: dict[Queue, None] = {}
        # Marks that callbacks wait for, by their queues.
        self._waiting: dict[Queue, Mark] = {}
        # Whether the error was of this process, not of the parent that it was forked from.
        self.failed: dict[Queue, bool] = {}

    # -- giving work -------------------------------------------------------------------------------------------------

    def put(self, queue: Queue, *items: _Work | Wait) -> None:
        """Do items in a queue's order."""
        with self._lock:
            queue.items.extend(items)
            if not queue.served:
                self._begin(queue)
                if isinstance(first := items[0], Wait) and not first.mark.done:
                    first.mark.parked.append(queue)
                else:
                    self._start(queue)
        self._serve_left_over()

    def do(self, queue: Queue, work: _Work) -> None:
        """Do work now, in the calling thread, if it is its turn; else in the queue's order.

        Its error is raised when the queue is waited for, as for all work.
        """
        with self._lock:
            if mine := not queue.served:
                self._begin(queue)
            queue.items.append(work)
        if not mine:
            return
        before, self._here.queue = self._here.queue, queue
        try:
            self._step(queue)
        finally:
            self._here.queue = before
            with self._lock:
                if queue.items:
                    self._start(queue)
                else:
                    self._end(queue)
            self._serve_left_over()
        if queue.failure is not None and not isinstance(queue.failure, Exception):
            self.raise_failure([queue])  # an interrupt of this thread

    def mark(self, queues: Iterable[Queue]) -> Mark:
        """Return a mark after all work of queues so far; it is done already if none has work."""
        with self._lock:
            made = Mark(tuple(queue for queue in queues if queue.served))
            for queue in made.queues:
                queue.items.append(made)
        if made.done:
            made.time = time.perf_counter_ns()
        return made

    def keep(self, thing: object) -> None:
        """Keep thing until all current work is done."""

        def kept(thing: object = thing) -> None:
            """Do nothing; the function keeps thing."""

        with self._lock:
            for queue in self.busy:
                queue.items.append(kept)

    def _begin(self, queue: Queue) -> None:
        self.busy[queue] = None
        self._tell(queue, served=True)

    def _end(self, queue: Queue) -> None:
        del self.busy[queue]
        self._tell(queue, served=False)

    def _count(self) -> None:
        attention.set_busy(sum(queue.blocking for queue in (*self.busy, *self.failed)))

    def _tell(self, queue: Queue, *, served: bool) -> None:
        """Note whether a queue has work, for machine code too."""
        queue.served = served
        queue.note(_SERVED, served)
        self._count()
        if queue.is_default:
            for other in _known.list():
                if other.blocking and other is not queue:
                    other.note(BEHIND, served)

    # -- waiting for it ----------------------------------------------------------------------------------------------

    def wait(self, mark: Mark) -> None:
        """Wait until a mark is reached; raises DeviceError in a callback of a stream that the mark waits for."""
        mine = self._here.queue
        with self._changed:
            if mine is None:
                self._changed.wait_for(lambda: mark.done)
                return
            if self._comes_after(mark, mine):
                whose = "its own stream" if mine in mark.queues else "a stream that waits for it"
                raise DeviceError(
                    f"a stream's callback waits for {whose}, which would never end; wait in another thread"
                )
            before, self._waiting[mine] = self._waiting.get(mine), mark
            try:
                self._changed.wait_for(lambda: mark.done)
            finally:
                if before is None:
                    del self._waiting[mine]
                else:
                    self._waiting[mine] = before

    def _comes_after(self, mark: Mark, queue: Queue) -> bool:
        """Return whether a mark can only be reached when a queue's current work has ended."""
        left, seen = [mark], {id(mark)}
        while left:
            wanted = left.pop()
            if wanted.done:
                continue
            for other in wanted.queues:
                if wanted not in other.items:  # it has reached the mark
                    continue
                if other is queue:
                    return True
                # The queue's current work waits too, or work before the mark does.
                first = itertools.takewhile(lambda item: item is not wanted, other.items)  # noqa: B023  # used at once
                waits = [item.mark for item in first if isinstance(item, Wait)]
                if (waiting := self._waiting.get(other)) is not None:
                    waits.append(waiting)
                left += [one for one in waits if id(one) not in seen]
                seen.update(map(id, waits))
        return False

    def other(self, queue: Queue) -> bool:
        """Return whether a queue is not the calling thread's."""
        return queue is not self._here.queue

    def raise_failure(self, queues: Iterable[Queue]) -> None:
        """Raise the first error in these queues that was not raised yet."""
        if (failure := self._take_failure(queues)) is not None:
            raise failure

    def _take_failure(self, queues: Iterable[Queue]) -> BaseException | None:
        """Return the first error in these queues that was not raised yet, and count it as raised."""
        with self._lock:
            wrong = next((queue for queue in queues if queue in self.failed), None)
            if wrong is None:
                return None
            failure, wrong.failure = wrong.failure, None
            del self.failed[wrong]
            self._count()
        return failure

    # -- doing it ----------------------------------------------------------------------------------------------------

    def _start(self, queue: Queue) -> None:
        """Serve a queue that has work by a thread."""
        if self._free:
            self._free -= 1
            self._ready.put(queue)
            return
        try:
            on_new_thread(lambda: self._serve(queue))
        except RuntimeError:  # no more threads, or the interpreter is ending: the thread that asks for the work does it
            self._left_over.append(queue)

    def _serve(self, queue: Queue | None) -> None:
        while queue is not None:
            self._drain(queue)
            queue = None
            queue = self._another()

    def _another(self) -> Queue | None:
        """Return a queue that has work, once there is one; None after a while without any."""
        with self._lock:
            self._free += 1
        while (found := self._given()) is None:
            with self._lock:
                if self._free:
                    self._free -= 1
                    return None
        return found

    def _given(self) -> Queue | None:
        """Return a queue that was given to a free thread; None after a while without any."""
        try:
            return self._ready.get(timeout=_IDLE_S)
        except Empty:
            return None

    def _serve_left_over(self) -> None:
        while self._left_over:
            self._drain(self._left_over.pop())

    def _drain(self, queue: Queue) -> None:
        """Do a queue's work until there is none, or it has to wait."""
        before, self._here.queue = self._here.queue, queue
        try:
            while self._step(queue):
                self._serve_left_over()
        finally:
            self._here.queue = before

    def _step(self, queue: Queue) -> bool:
        """Do a queue's next work, and drop it; return whether there may be more."""
        work = self._next(queue)
        if work is None:
            return False
        try:
            work()
        except BaseException as error:
            self._note(queue, error)
        return True

    def _next(self, queue: Queue) -> _Work | None:
        with self._lock:
            while queue.items:
                item = queue.items[0]
                if isinstance(item, Wait) and not item.mark.done:
                    item.mark.parked.append(queue)
                    return None
                queue.items.popleft()
                if isinstance(item, Mark):
                    self._reach(item)
                elif not isinstance(item, Wait):
                    return item
            self._end(queue)
        return None

    def _reach(self, mark: Mark) -> None:
        mark.left -= 1
        if mark.left:
            return
        mark.time = time.perf_counter_ns()
        parked, mark.parked = mark.parked, []
        for queue in parked:
            self._start(queue)
        self._changed.notify_all()

    def _note(self, queue: Queue, error: BaseException) -> None:
        with self._lock:
            if queue not in self.failed:
                queue.failure = error
                self.failed[queue] = True
                self._count()

    # -- the ends ----------------------------------------------------------------------------------------------------

    def settle(self, seconds: float) -> None:
        """Wait until all work is done, `seconds` at most; errors are not raised."""
        mark = self.mark([queue for queue in [*self.busy] if self.other(queue)])
        with self._changed:
            self._changed.wait_for(lambda: mark.done, timeout=seconds)

    def report_failures(self) -> None:
        """Report errors of this process that were not raised: they never will be."""
        from gridjit.runtime.queues.callbacks import report

        for queue in [queue for queue, here in self.failed.items() if here]:
            if (failure := self._take_failure([queue])) is not None:
                report(failure, "work in a stream that nobody waited for")

    def abandon(self) -> None:
        """In a forked child, or as the interpreter ends: drop other threads' work, and fail its waiters."""
        ended, forked = "the interpreter ended", "the process forked; the parent does it, and this process does not"
        why = ended if sys.is_finalizing() else forked
        for queue in [*self.busy]:
            marks = [item for item in queue.items if isinstance(item, Mark)]
            queue.items.clear()
            queue.served = False
            queue.word.value &= CLOSED
            queue.failure = DeviceError(f"work was in this stream when {why}")
            for mark in marks:
                mark.left, mark.time = 0, time.perf_counter_ns()
