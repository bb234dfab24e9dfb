"""Row: a kernel on the host target and its peer, timed in turns, after the kernel's result has been checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gridjit import UnsupportedError
from host_times.rest import rest

# About what a series of calls takes, so that neither the clock counts nor, among many calls, what wakes threads first.
_SERIES = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """What is timed: a launch and its peer's call. check raises unless the launch's result is right."""

    ours: Callable[[], object]
    peer: Callable[[], object]
    check: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A comparison: its name, its peer's, the ratio to reach, and what makes its arrays. per: what a time is divided by
    where it is the time itself, in ns, that has a goal."""

    name: str
    peer: str
    goal: float
    prepare: Callable[[], Pair]
    per: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A row's least times in ms, or the reason why it has none."""

    row: Row
    ours: float = 0.0
    theirs: float = 0.0
    refused: str = ""

    @property
    def figure(self) -> float:
        """What has the goal: a ratio, or ns."""
        return self.ours * 1e6 / self.row.per if self.row.per else self.ours / self.theirs

    def __str__(self) -> str:
        if self.refused:
            return f"{self.row.name:34} refused: {self.refused}"
        unit = "ns" if self.row.per else "  "
        verdict = "reached" if self.figure <= self.row.goal else "MISSED"
        times = f"gridjit {self.ours:9.4f} ms   {self.row.peer:22} {self.theirs:9.4f} ms"
        return f"{self.row.name:34} {times}   {self.figure:6.2f}{unit} at most {self.row.goal:5.2f}   {verdict}"


def measured(row: Row, seconds: float, clock: Callable[[], float] = time.perf_counter) -> Measured:
    """Return a row's times: the least of as many series as fit into the seconds, ours and the peer's in turns.

    Each series begins when the other's threads sleep, and with a call that is not timed, which wakes its own. clock:
    tells the seconds that a call takes.
    """
    pair = row.prepare()
    try:
        pair.ours()
    except UnsupportedError as error:
        return Measured(row=row, refused=str(error))
    pair.check()
    pair.peer()
    series = [(call, max(1, int(_SERIES / _timed(call, 1, clock)))) for call in (pair.ours, pair.peer)]
    least = [float("inf")] * 2
    end, turns = time.perf_counter() + seconds, 0
    while turns < 5 or time.perf_counter() < end:
        turns += 1
        for index, (call, often) in enumerate(series):
            rest()
            call()
            least[index] = min(least[index], _timed(call, often, clock))
    return Measured(row=row, ours=least[0] * 1e3, theirs=least[1] * 1e3)


def _timed(call: Callable[[], object], often: int, clock: Callable[[], float]) -> float:
    """Return the seconds that a call takes in a series."""
    started = clock()
    for _ in range(often):
        call()
    return (clock() - started) / often
