"""Statistics: how often a kernel was compiled, and found or missed on disk."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Statistics:
    """Counts of one kernel in this process.

    compiles: how often code was made. disk_hits, disk_misses: how often the cache had it, or not.
    """

    compiles: int = 0
    disk_hits: int = 0
    disk_misses: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def count(self, name: str) -> None:
        """Add one to a count; safe from any thread."""
        with self._lock:
            setattr(self, name, getattr(self, name) + 1)

    def free_lock(self) -> None:
        """Start with a new lock, as a forked child must: the thread that held this one is not in it."""
        self._lock = threading.Lock()
