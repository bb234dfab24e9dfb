"""goals: the figures that launches are to reach on a GPU, and whether the rows of a run reach them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from launch_overhead.timing import Row

_FEW = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure that must not be exceeded by the worst of the rows it is about: a multiple of the floor."""

    name: str
    limit: float
    what: tuple[str, ...]
    counts: tuple[int, ...]
    how: tuple[str, ...] = ("once",)

    def worst(self, rows: Iterable[Row]) -> Row | None:
        """Return the row that is furthest from its floor; None if there is none."""
        found = [
            row
            for row in rows
            if row.what in self.what and row.count in self.counts and row.how in self.how and row.ratio is not None
        ]
        return max(found, key=lambda row: row.ratio or 0, default=None)


GOALS = (
    Goal(name="0-4 own arrays or scalars, configured once", limit=1.10, what=("scalars", "own arrays"), counts=_FEW),
    Goal(
        name="0-4 own arrays or scalars, kernel[grid, block] each time",
        limit=1.15,
        what=("scalars", "own arrays"),
        counts=_FEW,
        how=("each",),
    ),
    Goal(name="4 CuPy arrays", limit=1.20, what=("CuPy arrays",), counts=(4,)),
    Goal(name="4 torch tensors", limit=1.25, what=("torch tensors",), counts=(4,)),
    Goal(name="26 own arrays", limit=1.30, what=("own arrays",), counts=(26,)),
    Goal(name="26 CuPy arrays", limit=1.5, what=("CuPy arrays",), counts=(26,)),
    Goal(name="26 torch tensors", limit=1.9, what=("torch tensors",), counts=(26,)),
)
# Milliseconds, by the step of start_times.
START_GOALS = (
    ("first launch of a kernel cached on disk, context already there", "first launch", 10.0),
    ("process start to first result, warm cache, less context creation", "all less context", 300.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a goal is reached. unit: "x floor" or "ms". worst: the case that the figure is of."""

    name: str
    limit: float
    figure: float | None
    unit: str
    worst: str = ""

    @property
    def word(self) -> str:
        """Reached, MISSED or not measured."""
        if self.figure is None:
            return "not measured"
        return "reached" if self.figure <= self.limit else "MISSED"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON has it."""
        return asdict(self) | {"verdict": self.word}


def verdicts(rows: Iterable[Row], starts: Mapping[str, float]) -> list[Verdict]:
    """Return how one repository's rows and start times stand to the goals."""
    given = list(rows)
    return [*(_launch(goal, given) for goal in GOALS), *(_start(*goal, starts) for goal in START_GOALS)]


def _launch(goal: Goal, rows: list[Row]) -> Verdict:
    worst = goal.worst(rows)
    if worst is None:
        return Verdict(name=goal.name, limit=goal.limit, figure=None, unit="x floor")
    case = f"{worst.count} {worst.what}, {worst.signature}: {worst.median:.2f} of {worst.floor:.2f} us"
    return Verdict(name=goal.name, limit=goal.limit, figure=worst.ratio, unit="x floor", worst=case)


def _start(name: str, step: str, limit: float, starts: Mapping[str, float]) -> Verdict:
    return Verdict(name=name, limit=limit, figure=starts.get(step), unit="ms")
