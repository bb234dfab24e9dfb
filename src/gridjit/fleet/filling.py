"""filling: an engine's workers do jobs, each until it is done, refused by all, or known to end workers."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from gridjit.fleet.compiling import Result
from gridjit.fleet.jobs import Job

# A job that ended so many processes or workers is given to no other.
MOST_KILLED = 2
# How many results an engine keeps for askers to come; workers find older results in their own caches.
MOST_RESULTS = 1000
# How many jobs wait with the engine for each that runs: a worker need not wait for the asker.
_AHEAD = 4
# How many seconds pass between two questions for workers, and how long to wait for a result at once.
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a job. killed: how many workers it has ended; avoided: the workers that refused it; why: the last."""

    job: Job
    killed: int = 0
    avoided: frozenset[str] = frozenset()
    why: str = ""

    @property
    def number(self) -> int:
        """How many tries were in vain."""
        return self.killed + len(self.avoided)


class FleetEngine(Protocol):
    """The workers of one engine, as the asker sees them. It does a job once, however many askers there are."""

    def slots(self) -> int:
        """Return how many jobs the workers do at once; 0 if there is no worker."""

    def begin(self, attempt: Attempt) -> str:
        """Hand a job to the workers; return why no worker may take it, "" if it is handed over."""

    def finished(self, seconds: float) -> list[tuple[Attempt, Result]]:
        """Return the tries that are over; wait for the first at most so long."""

    def drop(self) -> list[Attempt]:
        """Take back all tries that are not over."""

    def end(self) -> None:
        """Leave the workers, and results for askers to come with them."""


def filled(jobs: Iterable[Job], engine: FleetEngine, no_worker: str) -> Iterator[tuple[Job, Result]]:
    """Yield each job and its result, refused if no worker did it.

    no_worker: why jobs are refused where there is no worker.
    """
    waiting = (Attempt(job=job) for job in jobs)
    again: deque[Attempt] = deque()
    looks = _Looks(engine)
    under_way = 0
    while True:
        if not looks.slots:
            refused = Result(refused=no_worker)
            yield from ((one.job, refused) for one in itertools.chain(engine.drop(), again, waiting))
            return
        while under_way < _AHEAD * looks.slots:
            if (attempt := again.popleft() if again else next(waiting, None)) is None:
                break
            if why := engine.begin(attempt):
                yield attempt.job, Result(refused=attempt.why or why)
            else:
                under_way += 1
        if not under_way:
            return
        finished = engine.finished(_LOOK_S)
        under_way -= len(finished)
        for attempt, result in finished:
            if (more := _again(attempt, result)) is not None:
                again.append(more)
            else:
                yield attempt.job, _last(attempt, result)
        looks.renew(at_once=not finished)


class _Looks:
    """The number of an engine's slots, asked for once in a while. slots: as last seen."""

    def __init__(self, engine: FleetEngine) -> None:
        self._engine = engine
        self._asked, self.slots = time.monotonic(), engine.slots()

    def renew(self, *, at_once: bool) -> None:
        """Ask, if it is time."""
        if at_once or time.monotonic() - self._asked > _LOOK_S:
            self._asked, self.slots = time.monotonic(), self._engine.slots()


def _again(attempt: Attempt, result: Result) -> Attempt | None:
    """Return the next try of a job, if it gets one."""
    if result.killed:
        killed = attempt.killed + result.killed
        return replace(attempt, killed=killed) if killed < MOST_KILLED else None
    if result.refused and result.where and result.where not in attempt.avoided:
        return replace(attempt, avoided=attempt.avoided | {result.where}, why=_refused(result))
    return None


def _refused(result: Result) -> str:
    return f"{result.where or 'a worker'} refused it: {result.refused}"


def _last(attempt: Attempt, result: Result) -> Result:
    """Return the result of a job without a next try."""
    if result.killed:
        return Result(error=ended(attempt.killed + result.killed, result.ended), where=result.where)
    return replace(result, refused=_refused(result)) if result.refused else result


def ended(killed: int, how: str) -> str:
    """Return the error of a job that ended so many workers."""
    return f"{killed} workers ended while they compiled it ({how}); it is left to its first launch"
