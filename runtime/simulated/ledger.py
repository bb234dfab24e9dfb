"""Ledger: the bytes that arrays on each simulated device hold, from which the device's free memory follows.

The garbage collector gives memory back, at any time and in any thread, so that does not take a lock.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable

from gridjit.forking import lock, section


class Ledger:
    """Bytes held, by the number of the device."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._given: deque[tuple[int, int]] = deque()
        self._counting = lock()

    def take(self, ordinal: int, size: int, most: int | None) -> Callable[[], None] | None:
        """Note size bytes on a device; returns what gives them back, or None if it would hold more than most."""
        with section(), self._counting:
            held = self._settled(ordinal) + size
            if most is not None and held > most:
                return None
            self._held[ordinal] = held
        return functools.partial(self._given.append, (ordinal, size))

    def held(self, ordinal: int) -> int:
        """Return the bytes that are held on a device."""
        with section(), self._counting:
            return self._settled(ordinal)

    def _settled(self, ordinal: int) -> int:
        while self._given:
            device, size = self._given.popleft()
            self._held[device] = self._held.get(device, 0) - size
        return self._held.get(ordinal, 0)


ledger = Ledger()
