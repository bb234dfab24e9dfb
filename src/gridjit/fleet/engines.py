"""engines: the engine that an address of `gridjit warm --on` means."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gridjit.commands.warm_work import Built
from gridjit.compiler.values.errors import GridjitError
from gridjit.fleet.warmed import Warmed

Told = Callable[[Built, int], object]


def warm_on(place: str, needs: Path, targets: Sequence[str] | None, told: Told) -> tuple[Warmed, bool]:
    """Have an engine compile recorded needs; return the outcome, and whether this process reports it.

    place: dask://HOST:PORT, ray://HOST:PORT, ray://auto or mpi. Raises GridjitError if the engine is missing or does
    not answer.
    """
    scheme, _, address = place.partition("://")
    try:
        return _ENGINES[scheme](address, needs, targets, told)
    except ImportError as error:
        raise GridjitError(str(error)) from error


def _on_dask(address: str, needs: Path, targets: Sequence[str] | None, told: Told) -> tuple[Warmed, bool]:
    from gridjit.fleet import dask

    with dask.connected(address) as client:
        return dask.warm(client, needs, targets, told=told), True


def _on_ray(address: str, needs: Path, targets: Sequence[str] | None, told: Told) -> tuple[Warmed, bool]:
    from gridjit.fleet import ray

    # Ray prints events of the cluster on standard output; results tell of them too.
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), ray.connected(address):
        return ray.warm(needs, targets, told=told), True


def _on_mpi(address: str, needs: Path, targets: Sequence[str] | None, told: Told) -> tuple[Warmed, bool]:
    from gridjit.fleet.ranks import warm, world

    comm = world()
    done = warm(comm, needs, targets)
    # No process ends before the first has heard of all: mpirun ends all with the first that fails.
    told_by_ranks = comm.allgather(done.failed)
    others = [
        Built(label=f"rank {rank}: {label}", error=error)
        for rank, failed in enumerate(told_by_ranks)
        for label, error in failed.items()
        if label not in done.failed
    ]
    return replace(done, builds=(*done.builds, *others)), comm.rank == 0


_ENGINES: dict[str, Callable[[str, Path, Sequence[str] | None, Told], tuple[Warmed, bool]]] = {
    "dask": _on_dask,
    "ray": _on_ray,
    "mpi": _on_mpi,
}
