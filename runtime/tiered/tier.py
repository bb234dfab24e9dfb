"""Tier: the code that serves launches with the same values in the fields of jit(specialize=...), and since when.

It begins with generic code and ends with specialized code, or stays as it is and says why.
"""

from __future__ import annotations

import enum
import time
import weakref
from typing import TYPE_CHECKING, Any

from gridjit.runtime.queues.streams import Stream

if TYPE_CHECKING:
    from gridjit.runtime.specializations.statistics import Statistics
    from gridjit.runtime.specialize.declared import Ahead

# How often a lost compile is handed over again, whether lost with its process or in a fork.
_MOST_TRIES = 2


class State(enum.Enum):
    """A tier's state: NEW, not handed over; WAITING for the compile; else its last, by the code that serves."""

    NEW = enum.auto()
    WAITING = enum.auto()
    GENERIC = enum.auto()
    SPECIALIZED = enum.auto()


class Tier:
    """The code for launches with some values of the specialized fields.

    values: the fields, in words. why: why it stays with generic code, or never has any. launches: how many generic code
    served; seconds: for how long, once that ended.
    """

    def __init__(self, values: str) -> None:
        self.values = values
        self.state = State.NEW
        self.why = ""
        self.ahead: Ahead | None = None
        self.launches = 0
        self.seconds = 0.0
        self._since = 0.0
        self._tries = 0
        self._captured: list[weakref.ref[Stream]] = []

    @classmethod
    def apart(cls, values: str, why: str) -> Tier:
        """Return a tier without generic code, for a reason."""
        tier = cls(values)
        tier.state, tier.why = State.SPECIALIZED, why
        return tier

    def hand_over(self, ahead: Ahead) -> None:
        """Wait for a compile handed over; stay with generic code if it was not."""
        self.ahead, self.why = ahead, ahead.why
        self._tries += 1
        self.state = State.GENERIC if ahead.why else State.WAITING

    def count(self, stats: Statistics) -> None:
        """Count a launch that generic code serves."""
        if not self.launches:
            self._since = time.perf_counter()
        self.launches += 1
        stats.count("generic_launches")

    def swap(self, stats: Statistics) -> None:
        """Switch to specialized code."""
        self.state = State.SPECIALIZED
        if self.launches:
            self.seconds = time.perf_counter() - self._since
            stats.count("swaps")

    def stay(self, why: str) -> None:
        """Stay with generic code, for a reason; a lost compile is tried again."""
        lost = self.ahead is not None and self.ahead.outcome is None
        self.state, self.why = State.NEW if lost and self._tries < _MOST_TRIES else State.GENERIC, why

    def note_capture(self, stream: Any) -> None:
        """Note that a launch of generic code was captured in a stream."""
        if isinstance(stream, Stream) and all(known() is not stream for known in self._captured):
            self._captured.append(weakref.ref(stream))

    def is_captured(self) -> bool:
        """Return whether a stream is still being captured that has captured generic code.

        Only gridjit's own streams are checked, as they know whether they still exist.
        """
        self._captured = [known for known in self._captured if _is_capturing(known())]
        return bool(self._captured)

    def told(self) -> str:
        """Its story in words; empty if there was only specialized code."""
        served = f"generic code served {self.launches} launch{'es' * (self.launches != 1)}"
        if self.state is State.SPECIALIZED and self.why:
            return f"{self.values}: not tiered: {self.why}"
        if self.state is State.SPECIALIZED:
            return f"{self.values}: {served}, for {self.seconds:.2f} s, then specialized code" if self.launches else ""
        if self.state is State.GENERIC:
            return f"{self.values}: generic code serves, and there is no specialized code: {self.why}"
        return f"{self.values}: {served}; specialized code is being compiled"


def _is_capturing(stream: Stream | None) -> bool:
    return stream is not None and stream.alive and stream.is_capturing()
