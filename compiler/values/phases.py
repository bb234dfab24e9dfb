"""phases: how long each step takes while a kernel's code is looked up or made.

Time counts for the innermost phase only, so that the phases of one kernel add up to the whole: a device function that
is lowered while the types of its caller are inferred counts as lowering. A phase costs about a microsecond.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

# Seconds; a benchmark on a busy machine takes the process's own time instead.
clock = time.perf_counter
# The phase of all other time.
OTHER = "other"
# Milliseconds: phases below it are noise in a list for people.
_SHOWN = 0.05


class Phases:
    """The phases of one kernel in one thread, while they are gone through: `with Phases() as phases:` records them.

    A kernel that is compiled inside of this one's compile has phases of its own, and counts here for the phase around.
    """

    __slots__ = ("_name", "_outer", "_seconds", "_since")

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._name, self._since = OTHER, clock()
        self._outer: Phases | None = None

    def switch(self, name: str) -> str:
        """Count the time from now on for another phase; return the former phase."""
        now, before = clock(), self._name
        self._seconds[before] = self._seconds.get(before, 0.0) + now - self._since
        self._name, self._since = name, now
        return before

    def milliseconds(self) -> dict[str, float]:
        """Return the time of each phase until now, in the order in which they ended first."""
        self.switch(self._name)
        return {name: round(seconds * 1e3, 2) for name, seconds in self._seconds.items()}

    def __enter__(self) -> Phases:
        self._outer, _current.phases = _current.phases, self
        return self

    def __exit__(self, *_: object) -> None:
        _current.phases = self._outer


class phase:  # noqa: N801  # it is used as a verb: `with phase("link"):`
    """`with phase(name):` counts the block's time for a phase of the kernel that its thread is at, if at any."""

    __slots__ = ("_before", "_name", "_phases")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> phase:
        self._phases = found = _current.phases
        if found is not None:
            self._before = found.switch(self._name)
        return self

    def end(self) -> None:
        """Count the time from now on for the phase around, where only the beginning of a block is of this phase."""
        if self._phases is not None:
            self._phases.switch(self._before)

    def __exit__(self, *_: object) -> None:
        self.end()


def current_phases() -> Phases | None:
    """Return the phases of the kernel that this thread is at; None if it records none."""
    return _current.phases


def phases_until_now() -> dict[str, float]:
    """Return the milliseconds of each phase of the kernel that this thread is at; none if it records none."""
    return {} if _current.phases is None else _current.phases.milliseconds()


def phases_text(phases: Mapping[str, float], most: int = 5) -> str:
    """Return the longest phases as people read them: "lowering 120 ms, type inference 80, others 12"; "" for none."""
    longest = sorted(phases.items(), key=lambda item: -item[1])
    shown = [(name, spent) for name, spent in longest[:most] if spent >= _SHOWN and name != OTHER]
    rest = sum(phases.values()) - sum(spent for _, spent in shown)
    if shown and rest >= _SHOWN:
        shown.append(("others", rest))
    return ", ".join(f"{name} {spent:.1f}{' ms' * (not number)}" for number, (name, spent) in enumerate(shown))


class _Current(threading.local):
    """The phases that a thread records."""

    phases: Phases | None = None


_current = _Current()
