"""threads: whether another thread of the program has run since a moment, by the processor time that each has used.

A thread that only waits cannot have changed anything. gridjit's own threads, which run kernels, do not count.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import TypeAlias

# By the number that the system has for a thread: the nanoseconds that it has run; None where that is not known.
ThreadTimes: TypeAlias = "Mapping[int, int | None]"


def thread_times() -> ThreadTimes:
    """Return the processor time of each other thread of the program, in nanoseconds."""
    here, running = threading.current_thread(), sys._current_frames()
    # A thread that threading did not start may be listed for ever.
    others = (one for one in threading.enumerate() if one is not here and one.ident in running)
    return {one.native_id or 0: _time(one.native_id) for one in others if not one.name.startswith("gridjit-")}


def nobody_else_ran(since: ThreadTimes) -> bool:
    """Return whether no other thread has run since its time was noted; False where that is not known."""
    return all(now is not None and now == since.get(thread) for thread, now in thread_times().items())


def _time(thread: int | None) -> int | None:
    """Return how long a thread has run: Linux numbers the clocks of threads as clock_getcpuclockid(3) does."""
    try:
        return None if thread is None else time.clock_gettime_ns(~thread * 8 + 6)
    except (OSError, OverflowError):
        return None
