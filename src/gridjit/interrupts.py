"""interrupts: work that an interrupt of the calling thread waits for, and restoring that comes to its end.

Ctrl-C, a signal's handler or PyThreadState_SetAsyncExc raise an exception at any call of the thread that they are for.
They come at calls and at the start of functions, not between plain assignments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

# More often than anyone interrupts what takes microseconds.
_TRIES = 100


def uninterrupted(work: Callable[[], object]) -> None:
    """Do work in a thread of its own, which no interrupt is for; one of the calling thread is raised when it is done.

    For work that nothing could repair, as a module that is imported halfway. Its locks must not be the caller's.
    """
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=run, name="gridjit-uninterrupted", daemon=True)
    try:
        worker.start()
    except RuntimeError:
        run()  # no more threads, or the interpreter is ending
    else:
        _wait_for(worker)
    if failed:
        raise failed[0]


def _wait_for(worker: threading.Thread) -> None:
    try:
        worker.join()
    except BaseException:
        # Waited for all the same: whoever comes next must not meet the work half done.
        _wait_for(worker)
        raise


def surely(restore: Callable[[], object]) -> None:
    """Call what may be called again until it comes to its end; then raise what an interrupt raised meanwhile."""
    interrupted: BaseException | None = None
    for _ in range(_TRIES):
        try:
            restore()
            break
        except BaseException as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted
