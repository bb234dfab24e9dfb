"""timing: launches in batches, with an untimed synchronize between batches; and the resulting rows."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

COUNTS = (0, 1, 2, 3, 4, 26)
# Well under the 1,024 launches that a stream takes before the next one waits for the device.
BATCH = 500
# Cases that take far longer than a launch are not repeated as often as asked for.
LONGEST_REPEAT = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Microseconds per launch of one case. A sample is the mean of one batch.

    who: whose launch. what: the kind of arguments. how: "once" configured, or "each" time. floor: the median of the
    bare C loop with as many bytes of parameters, in batches between the case's own; None where there is none.
    """

    who: str
    what: str
    count: int
    how: str
    signature: str
    mean: float
    stdev: float
    median: float
    samples: int
    floor: float | None = None

    @property
    def ratio(self) -> float | None:
        """The median as a multiple of the floor."""
        return self.median / self.floor if self.floor else None

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return asdict(self) | {"ratio": self.ratio}

    @classmethod
    def of(cls, found: dict[str, Any]) -> Row:
        """Return a row from what as_json() gave."""
        return cls(**{name: value for name, value in found.items() if name != "ratio"})


def difference(row: Row, reference: Row) -> float:
    """Return what one case takes as a multiple of what it takes another: of their own floors, where both have one.

    A floor is measured in the same process and moments as its case, so that what the machine did meanwhile cancels out.
    """
    if row.ratio is not None and reference.ratio is not None:
        return row.ratio / reference.ratio
    return row.median / reference.median


def pooled(runs: Sequence[Sequence[Row]]) -> list[Row]:
    """Return one row for each case of several runs: medians of the runs' medians, over all of their samples."""
    cases: dict[tuple[object, ...], list[Row]] = {}
    for row in (row for run in runs for row in run):
        cases.setdefault((row.who, row.what, row.how, row.signature, row.count, row.floor is None), []).append(row)
    return [_pooled(rows) for rows in cases.values()]


def _pooled(rows: Sequence[Row]) -> Row:
    samples = sum(row.samples for row in rows)
    mean = sum(row.mean * row.samples for row in rows) / samples
    # What is spread within runs, and from run to run.
    squares = sum((row.samples - 1) * row.stdev**2 + row.samples * (row.mean - mean) ** 2 for row in rows)
    floors = [row.floor for row in rows if row.floor is not None]
    return replace(
        rows[0],
        mean=round(mean, 4),
        stdev=round((squares / max(1, samples - 1)) ** 0.5, 4),
        median=round(statistics.median(row.median for row in rows), 4),
        samples=samples,
        floor=round(statistics.median(floors), 4) if floors else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something to time. launch: makes so many launches. words: of 8 bytes, that its arrays or scalars come to."""

    who: str
    what: str
    count: int
    launch: Callable[[int], Any]
    how: str = "once"
    signature: str = "lazy"
    words: int = 0


def calls(configured: Callable[..., Any], values: Sequence[Any]) -> Callable[[int], None]:
    """Return a function that calls configured(*values) so many times, everything in local names as in a user's loop."""
    return _loop("function({names})", configured, values)


def indexed_calls(kernel: Any, values: Sequence[Any]) -> Callable[[int], None]:
    """Return a function that calls kernel[1, 1](*values) so many times."""
    return _loop("function[grid, block]({names})", kernel, values)


def _loop(call: str, function: Any, values: Sequence[Any]) -> Callable[[int], None]:
    names = [f"a{index}" for index in range(len(values))]
    unpack = f"    {', '.join(names)}, = values\n" if names else ""
    text = (
        f"def make(function, values):\n"
        f"    def launch(times):\n"
        f"        grid, block = 1, 1\n"
        f"    {unpack or '    pass' + chr(10)}"
        f"        f, v = function, values\n"
        f"        for _ in range(times):\n"
        f"            {call.format(names=', '.join(names)).replace('function', 'f')}\n"
        f"    return launch\n"
    )
    space: dict[str, Any] = {}
    exec(text, space)
    made: Callable[[int], None] = space["make"](function, tuple(values))
    return made


def measure(
    cases: Sequence[Case],
    floor: Callable[[int, int], None] | None,
    synchronize: Callable[[], None],
    loops: int,
    repeats: int,
) -> list[Row]:
    """Return a row for each case, and first one for each floor. Repeats go through all cases in turns.

    floor: makes launches of a kernel with so many words of parameters, so many times. Each batch of a case has one of
    its floor before it, so that the two see the same machine, whatever else the machine does meanwhile.
    """
    floors = _floors(cases, floor)
    for case in (*floors.values(), *cases):
        case.launch(3)
        synchronize()
    samples: list[list[float]] = [[] for _ in cases]
    beside: list[list[float]] = [[] for _ in cases]
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            for case, taken, before in zip(cases, samples, beside, strict=True):
                _repeat(case, floors.get(case.words), synchronize, loops, taken, before)
    finally:
        gc.enable()
    rows = [_row(case, taken, before) for case, taken, before in zip(cases, samples, beside, strict=True)]
    pooled = {words: [s for c, b in zip(cases, beside, strict=True) if c.words == words for s in b] for words in floors}
    return [*(_row(case, pooled[words], pooled[words]) for words, case in floors.items()), *rows]


def _floors(cases: Sequence[Case], floor: Callable[[int, int], None] | None) -> dict[int, Case]:
    """Return the floor for each size of parameters, in words."""
    if floor is None:
        return {}
    sizes = {case.words: case.count for case in cases}
    return {
        words: Case(
            who="floor",
            what="scalars" if words == count else "arrays",
            count=count,
            words=words,
            signature="packed",
            launch=lambda times, words=words: floor(words, times),  # type: ignore[misc]
        )
        for words, count in sorted(sizes.items())
    }


def _repeat(
    case: Case,
    floor: Case | None,
    synchronize: Callable[[], None],
    loops: int,
    taken: list[float],
    before: list[float],
) -> None:
    """Add the microseconds per launch of batches that come to so many launches, fewer if they take long."""
    done, deadline = 0, time.perf_counter() + LONGEST_REPEAT
    case.launch(1)
    while done < loops and (not done or time.perf_counter() < deadline):
        times = min(BATCH, loops - done)
        if floor is not None:
            before.append(_batch(floor, times, synchronize))
        taken.append(_batch(case, times, synchronize))
        done += times


def _batch(case: Case, times: int, synchronize: Callable[[], None]) -> float:
    started = time.perf_counter()
    case.launch(times)
    found = (time.perf_counter() - started) / times * 1e6
    synchronize()
    return found


def _row(case: Case, samples: list[float], floor: list[float]) -> Row:
    return Row(
        who=case.who,
        what=case.what,
        count=case.count,
        how=case.how,
        signature=case.signature,
        mean=round(statistics.fmean(samples), 4),
        stdev=round(statistics.stdev(samples), 4) if len(samples) > 1 else 0.0,
        median=round(statistics.median(samples), 4),
        samples=len(samples),
        floor=round(statistics.median(floor), 4) if floor else None,
    )
