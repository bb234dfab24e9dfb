"""Breaker: keeps a process from asking a remote that does not answer, or answers with entries that are refused."""

from __future__ import annotations

import time
from collections.abc import Callable

SILENCE_S = 60.0
# A single damaged entry does not make a remote useless.
MOST_REFUSED = 3


class Breaker:
    """Of one remote, in one process. It opens at a failure, and closes again after a minute.

    why: the last failure, empty if there was none. clock: returns seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._refused = 0
        self.why = ""

    @property
    def is_open(self) -> bool:
        """Whether the remote is not asked now."""
        return self._clock() < self._until

    def failed(self, why: str) -> None:
        """Ask no more for a minute."""
        self.why, self._until = why, self._clock() + SILENCE_S

    def refused(self, why: str) -> None:
        """Note an entry that was refused; several in a row are a failure."""
        self._refused += 1
        if self._refused >= MOST_REFUSED:
            self._refused = 0
            self.failed(why)

    def served(self) -> None:
        """Note an entry that was right."""
        self._refused = 0
