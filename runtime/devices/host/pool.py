"""ThreadPool: the threads that help the calling thread with a grid.

They are daemons, made when first needed and made again in a forked child.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gridjit.base.forking import in_child, lock, section
from gridjit.base.stacks import on_new_thread

if TYPE_CHECKING:
    from queue import SimpleQueue
else:
    try:
        from _queue import SimpleQueue  # the standard library's queue has it from there, and little else
    except ImportError:
        from queue import SimpleQueue

_Work = Callable[[], None]


class ThreadPool:
    """Threads that wait for work; help() never waits for a free thread, and never fails."""

    def __init__(self) -> None:
        self._lock = lock()
        self._queue: SimpleQueue[_Work] = SimpleQueue()
        self._size = 0

    def help(self, work: _Work, count: int) -> None:
        """Run work on up to count threads, as soon as they are free."""
        with section(), self._lock:
            while self._size < count and self._start():
                self._size += 1
            for _ in range(min(count, self._size)):
                self._queue.put(work)

    def _start(self) -> bool:
        work_queue = self._queue
        try:
            on_new_thread(lambda: _serve(work_queue))
        except RuntimeError:
            # No more threads, or the interpreter is ending: the caller does the work alone.
            return False
        return True


def _serve(work_queue: SimpleQueue[_Work]) -> None:
    while True:
        work_queue.get()()


def pool() -> ThreadPool:
    """Return this process's pool."""
    return _pools[0]


_pools = [ThreadPool()]


def renew() -> None:
    """Use threads of a new pool from now on."""
    _pools[0] = ThreadPool()


# The parent's threads do not exist in the child.
in_child(renew)
