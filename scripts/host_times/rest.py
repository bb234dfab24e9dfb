"""Rest: waits until no other thread of this process computes, so that what comes next has the processor to itself.

Threads that served a parallel loop look for more work before they sleep: those of GNU OpenMP, which numba uses, for up
to 300,000 pauses of the processor, which is several milliseconds on most. Whoever is timed meanwhile shares a core with
them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_TASKS = Path("/proc/self/task")
# Threads that never sleep must not stop the benchmark.
_PATIENCE_S = 0.25


def rest() -> bool:
    """Wait until all other threads of this process sleep; return whether they do. Elsewhere than on Linux, go on."""
    until = time.monotonic() + _PATIENCE_S
    while any(state == "R" for state in _states()):
        if time.monotonic() > until:
            return False
        os.sched_yield()
    return True


def _states() -> Iterator[str]:
    """Yield what the other threads do: "R" if they run, or would if a core were free."""
    me = str(threading.get_native_id())
    for task in _TASKS.iterdir() if _TASKS.is_dir() else ():
        if task.name != me:
            try:
                # The name, in parentheses, may be anything.
                yield (task / "stat").read_text().rpartition(") ")[2][:1]
            except OSError:  # it has ended
                continue
