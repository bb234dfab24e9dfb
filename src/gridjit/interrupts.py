"""interrupts: work that an interrupt of the calling thread waits for, and restoring that always completes.

Ctrl-C, a signal's handler or PyThreadState_SetAsyncExc raise an exception at any call of the thread that they are for.
They come at calls and at the start of functions, not between plain assignments.
"""

from __future__ import annotations

import contextlib
import itertools
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterator
from types import TracebackType

from gridjit.stacks import with_room

# More often than anyone interrupts what takes microseconds.
_TRIES = 100


def uninterrupted(work: Callable[[], object]) -> None:
    """Do work in a thread of its own, which no interrupt reaches; one of the calling thread is raised when it is done.

    For work that nothing could repair, as a module that is imported halfway. Its locks must not be the caller's.
    Whoever takes `begun` does the work or sees to it that nobody does. No lock that Python code takes is waited for:
    an interrupt could keep such a lock forever, such as those with which threading starts threads.
    """
    failed: list[BaseException] = []
    begun, done = allocate_lock(), allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            if begun.acquire(blocking=False):
                work()
        except BaseException as error:
            failed.append(error)
        finally:
            done.release()

    try:
        _started(run)
        _wait_for(done)
    except BaseException:
        if not begun.acquire(blocking=False):
            _wait_for(done)
        raise
    if failed:
        raise failed[0]


def _started(run: Callable[[], None]) -> None:
    """Have run called, on a new thread if there can be one."""
    try:
        with_room(lambda: start_new_thread(run, ()))
    except RuntimeError:
        run()  # no more threads, or the interpreter is ending


def _wait_for(done: LockType) -> None:
    """Wait until a lock was released once, in C; an interrupt is raised then."""
    try:
        with done:
            pass
    except BaseException:
        # Waited for all the same: whoever comes next must not meet the work half done.
        _wait_for(done)
        raise


def surely(restore: Callable[[], object], *, tries: int | None = _TRIES) -> None:
    """Call what may be called repeatedly until it completes; then raise what an interrupt raised meanwhile.

    tries: how often it is called at the most; None: until it completes, for what must not be left undone.
    """
    interrupted: BaseException | None = None
    for _ in itertools.count() if tries is None else range(tries):
        try:
            restore()
            break
        except BaseException as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


def leave_managers(error: BaseException) -> None:
    """Leave each block of a context manager that error, just caught, kept from being left.

    An interrupt at the call of `__enter__` or `__exit__` leaves a generator of contextlib's waiting. It would go on
    when the traceback is freed: much later, perhaps in another thread, and restore then what was right once.
    """
    seen: list[BaseException] = []
    caught: BaseException | None = error
    while caught is not None and caught not in seen:
        seen.append(caught)
        for frame in reversed([step.tb_frame for step in _steps(caught.__traceback__)]):
            if frame.f_globals is vars(contextlib):
                with contextlib.suppress(Exception):  # it runs, or was left already
                    frame.f_locals["self"].gen.close()
        caught = caught.__context__


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    """Yield each step of a traceback, the outermost first; without the module traceback, which no start needs."""
    while step is not None:
        yield step
        step = step.tb_next
