"""ranks: the processes of an MPI or torch.distributed program compile a share each, and then all have all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gridjit.commands.recorded import recorded
from gridjit.commands.warm_work import Built
from gridjit.compiler.values.errors import GridjitError
from gridjit.fleet.compiling import Result, packed
from gridjit.fleet.jobs import Fields, Job, difference, planned
from gridjit.fleet.warmed import Warmed, built_here, made_here, notes, taken


class Comm(Protocol):
    """The processes of a program. mpi4py's communicators are such objects; `TorchComm` makes one of torch's groups."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""

    @property
    def size(self) -> int:
        """The number of processes."""

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank; each calls it."""


def world() -> Comm:
    """Return all processes that MPI started; raises ImportError naming the package if mpi4py is missing."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(f"mpi4py cannot be imported ({error}): pip install mpi4py") from error
    comm: Comm = MPI.COMM_WORLD
    return comm


class TorchComm:
    """The processes of torch.distributed's group; None for all processes."""

    def __init__(self, group: Any = None) -> None:
        try:
            import torch.distributed as dist
        except ImportError as error:
            raise ImportError("torch is not installed: pip install torch") from error
        self._dist, self._group = dist, group
        self.rank: int = dist.get_rank(group)
        self.size: int = dist.get_world_size(group)

    def allgather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        values: list[Any] = [None] * self.size
        self._dist.all_gather_object(values, value, group=self._group)
        return values


def warm(
    comm: Comm,
    needs: str | os.PathLike[str],
    targets: Sequence[str] | None = None,
) -> Warmed:
    """Compile recorded needs, a share on each process of a program; then each process's cache has all code.

    comm: an object with rank, size and allgather, such as mpi4py's communicators, or `TorchComm()`; each of its
    processes calls this. needs: the file that GRIDJIT_RECORD=FILE wrote. targets: as for gridjit.fleet.plan.
    Processes with different toolchains share nothing. Raises GridjitError on each process if the file cannot be read on
    one of them.

        gridjit.fleet.warm(MPI.COMM_WORLD, "needs.jsonl").failed
    """
    known: list[Built] = []
    jobs, unreadable, wrong = _planned(needs, targets, known.append)
    toolchains = comm.allgather((wrong, tuple(dict.fromkeys(job.toolchain for job in jobs))))
    if why := next((said for said, _ in toolchains if said), ""):
        raise GridjitError(why)
    own = [job for job in jobs if owner(job, [has for _, has in toolchains]) == comm.rank]
    shares = comm.allgather({job.digest: packed(made) for job, made in made_here(own)})
    gathered: dict[str, Result] = {digest: result for share in shares for digest, result in share.items()}
    left = [job for job in jobs if job.digest not in gathered or gathered[job.digest].refused]
    known += _ended(jobs, gathered, left)
    reasons = ["no process has the same kernel" for _ in left]
    return Warmed(builds=(*unreadable, *known), notes=(*notes(reasons), *_others(jobs, toolchains)))


def _ended(jobs: Sequence[Job], gathered: Mapping[str, Result], left: Sequence[Job]) -> Iterator[Built]:
    """Yield the outcome of each job: with the code that its owner compiled, or else compiled here."""
    here = {job.digest for job in left}
    yield from (taken(job, gathered[job.digest]) for job in jobs if job.digest not in here)
    yield from (built_here(job, made) for job, made in made_here(left))


def owner(job: Job, toolchains: Sequence[Sequence[Fields]]) -> int:
    """Return the rank that compiles a job: of those with its toolchain, the one of its digest."""
    able = [rank for rank, has in enumerate(toolchains) if job.toolchain in has]
    return able[int(job.digest, 16) % len(able)]


def _planned(
    needs: str | os.PathLike[str], targets: Sequence[str] | None, note: Callable[[Built], object]
) -> tuple[list[Job], list[Built], str]:
    """Return the jobs, the unreadable lines, and why there are none: the other processes wait for that."""
    try:
        works, unreadable = recorded(Path(needs), targets)
    except GridjitError as error:
        return [], [], str(error)
    jobs = []
    for found in planned(works):
        if isinstance(found, Job):
            jobs.append(found)
        else:
            note(found)
    return jobs, unreadable, ""


def _others(jobs: Sequence[Job], toolchains: Sequence[tuple[str, Sequence[Fields]]]) -> Iterator[str]:
    """Yield a sentence for each process that has another toolchain than this one."""
    for wanted in dict.fromkeys(job.toolchain for job in jobs):
        for rank, (_, has) in enumerate(toolchains):
            if wanted not in has:
                yield f"rank {rank} shares nothing: {_nearest(wanted, has)}"


def _nearest(wanted: Fields, has: Sequence[Fields]) -> str:
    """Return how the toolchain that is most like another differs from it."""
    nearest = min(has, key=lambda other: len({*other} ^ {*wanted}), default=())
    return difference(wanted, nearest) if nearest else "it has no job for this target"
