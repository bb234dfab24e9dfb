"""Breaker and Recent: keep a process from asking a remote in vain, for a minute or for seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")

SILENCE_S = 60.0
# A single damaged entry does not make a remote useless.
MOST_REFUSED = 3


class Breaker:
    """Of one remote, in one process. It opens at a failure, and closes again after a minute.

    why: the last failure or refusal, empty if there was none. clock: returns seconds that only grow.
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
        self.why = why
        self._refused += 1
        if self._refused >= MOST_REFUSED:
            self._refused = 0
            self.failed(why)

    def served(self) -> None:
        """Note an entry that was right."""
        self._refused = 0


class Recent(Generic[Value]):
    """Values by name, each of which is forgotten after some seconds; all are when there are `most`."""

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._most, self._clock = seconds, most, clock
        self._known: dict[str, tuple[float, Value]] = {}

    def get(self, name: str) -> Value | None:
        """Return the value of a name, or None."""
        until, value = self._known.get(name, (0.0, None))
        return value if self._clock() < until else None

    def put(self, name: str, value: Value) -> None:
        """Keep a value, which is not None."""
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[name] = self._clock() + self._seconds, value

    def clear(self) -> None:
        """Forget all."""
        self._known.clear()

    def drop(self, name: str) -> None:
        """Forget a name's value."""
        self._known.pop(name, None)
