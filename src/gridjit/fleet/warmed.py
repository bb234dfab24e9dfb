"""warmed: an engine's results come into this machine's cache, which compiles what no worker did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gridjit.commands.recorded import recorded
from gridjit.commands.warm_work import Built, WarmTask
from gridjit.compiler.values.errors import GridjitError
from gridjit.fleet.compiling import MAKE, Made, Result, make, outcome
from gridjit.fleet.delivery import deliver, why_not_kept
from gridjit.fleet.filling import MOST_KILLED, FleetEngine, ended, filled
from gridjit.fleet.jobs import Job, planned
from gridjit.runtime.environment.settings import usable_cores
from gridjit.runtime.pool.pool import ProcessPool, Task
from gridjit.runtime.process.session import session


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """The outcome of each need, and sentences on jobs that no worker did."""

    builds: tuple[Built, ...]
    notes: tuple[str, ...] = ()

    @property
    def compiled(self) -> int:
        """How many were compiled."""
        return sum(built.origin == "compiled" for built in self.builds)

    @property
    def failed(self) -> dict[str, str]:
        """The needs without code in the cache, and the reason for each."""
        return {built.label: built.error for built in self.builds if built.error}


def warm_by(
    engine: FleetEngine,
    name: str,
    needs: str | Path,
    targets: Sequence[str] | None = None,
    told: Callable[[Built, int], object] = lambda built, total: None,
) -> Warmed:
    """Have an engine's workers compile recorded needs, and return the outcome once this cache has the code.

    name: the engine's in messages. told: called with each outcome, and the number of needs.
    """
    works, unreadable = recorded(Path(needs), targets)
    known: list[Built] = []
    left: dict[Job, str] = {}

    def note(built: Built) -> None:
        known.append(built)
        told(built, len(works))

    for job, result in filled(_jobs(works, note), engine, f"there is no worker at {name}"):
        if result.refused:
            left[job] = result.refused
        else:
            note(taken(job, result))
    for job, made in made_here([*left]):
        note(built_here(job, made))
    return Warmed(builds=(*unreadable, *known), notes=tuple(notes(left.values())))


def _jobs(works: Iterable[WarmTask], note: Callable[[Built], None]) -> Iterator[Job]:
    """Yield the jobs of works; note the outcome of works without a job."""
    for found in planned(works, skips_stored=True):
        if isinstance(found, Job):
            yield found
        else:
            note(found)


def taken(job: Job, result: Result) -> Built:
    """Return a job's outcome here, with its code in this cache."""
    work = job.work
    built = Built(label=str(work), error=result.error, needs_launch=result.needs_launch, work=work)
    if result.error:
        return built
    try:
        why = why_not_kept(deliver(result.bundle))
    except GridjitError as error:
        why = str(error)
    if why:
        return replace(built, error=f"the code from {result.where} is not used: {why}")
    return replace(built, origin=result.origin)


def made_here(jobs: Sequence[Job]) -> Iterator[tuple[Job, Made]]:
    """Yield each job with its outcome, compiled by processes of this machine."""
    if not jobs:
        return
    pool = ProcessPool(session().settings, min(usable_cores(), len(jobs)))
    try:
        tasks = [(job, _begun(pool, job)) for job in jobs]
        for job, task in tasks:
            made, killed = _waited(pool, job, task), 1
            while isinstance(made, str) and killed < MOST_KILLED:
                made, killed = _waited(pool, job, _begun(pool, job)), killed + 1
            yield job, Made(error=ended(killed, made)) if isinstance(made, str) else made
    finally:
        pool.end()


def _begun(pool: ProcessPool, job: Job) -> Task | None:
    """Hand a job to the processes; None if none can be started."""
    try:
        return pool.submit(MAKE, job.need, job.key)
    except OSError:
        return None


def _waited(pool: ProcessPool, job: Job, task: Task | None) -> Made | str:
    """Return a job's outcome, or how the process that compiled it ended."""
    return make(job.need, job.key) if task is None else outcome(job, pool.wait(task))


def built_here(job: Job, made: Made) -> Built:
    """Return a job's outcome after this machine compiled it."""
    work, error = job.work, made.error or made.refused
    return Built(label=str(work), origin=made.origin, error=error, needs_launch=made.needs_launch, work=work)


def notes(reasons: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each reason for which jobs were compiled here."""
    for why, count in Counter(reasons).items():
        yield f"{why}: {count} {'job was' if count == 1 else 'jobs were'} compiled here"
