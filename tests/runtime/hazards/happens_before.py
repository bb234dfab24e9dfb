"""HappensBefore: which work comes before which, by the rules in CUDA's programming guide, for programs of tests.

It shares nothing with what it judges: each piece of work is a bit, and a set of work that comes earlier is a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# The legacy default stream, by name. All others are whatever the program calls them.
LEGACY = "legacy"


class Use(NamedTuple):
    """Bytes, or items, that work uses."""

    work: int
    items: frozenset[int]
    writes: bool


class HappensBefore:
    """The work that streams were given so far. host: what the host waited for. all: all work."""

    def __init__(self) -> None:
        self.host = 0
        self.all = 0
        self._after: dict[str, int] = {LEGACY: 0}
        self._blocking: set[str] = set()
        self._events: dict[object, int] = {}
        self._uses: list[Use] = []

    def add_stream(self, stream: str, *, blocking: bool) -> None:
        """Know a stream, which may be known already."""
        self._after.setdefault(stream, 0)
        if blocking:
            self._blocking.add(stream)

    def before(self, stream: str) -> int:
        """Return what comes before the next work of a stream."""
        found = self._after[stream] | self.host
        if stream == LEGACY:
            found |= self._of_blocking()
        elif stream in self._blocking:
            found |= self._after[LEGACY]
        return found

    def give(self, stream: str, uses: Iterable[tuple[frozenset[int], bool]] = (), *, after: int = 0) -> int:
        """Give a stream work, which also comes after other work; returns what is done when it is."""
        work = self.all + 1
        done = self._after[stream] = self.before(stream) | after | work
        self.all |= work
        self._uses += [Use(work, items, writes) for items, writes in uses if items]
        return done

    def conflict(self, stream: str, uses: Iterable[tuple[frozenset[int], bool]]) -> bool:
        """Return whether work with these uses would conflict with some that need not be done before it."""
        before = self.before(stream)
        other = [use for use in self._uses if not use.work & before]
        return any((writes or use.writes) and items & use.items for items, writes in uses for use in other)

    def in_use(self, items: frozenset[int]) -> bool:
        """Return whether work that the host has not waited for may still write some of the items."""
        return any(use.writes and use.items & items and not use.work & self.host for use in self._uses)

    def record(self, event: object, stream: str) -> None:
        """Have an event stand for what a stream was given."""
        self._events[event] = self.give(stream)

    def wait(self, stream: str, event: object) -> None:
        """Have a stream wait for an event, if that was recorded."""
        if event in self._events:
            self.give(stream, after=self._events[event])

    def wait_for_stream(self, stream: str, other: str) -> None:
        """Have a stream wait for another one."""
        self.give(stream, after=self.give(other))

    def synchronize(self, stream: str) -> None:
        """Have the host wait for a stream; with the default stream, it waits for blocking ones."""
        self.host |= self._after[stream] | (self._of_blocking() if stream == LEGACY else 0)

    def synchronize_event(self, event: object) -> None:
        """Have the host wait for an event."""
        self.host |= self._events.get(event, 0)

    def _of_blocking(self) -> int:
        found = 0
        for stream in self._blocking:
            found |= self._after[stream]
        return found
