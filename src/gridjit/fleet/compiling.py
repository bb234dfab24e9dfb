"""compiling: a worker does a job in a process of its own, of the host's `gridjit serve` if the settings ask for it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace

from gridjit.cache.history import job_entry
from gridjit.commands.warm_work import build, look_at
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.target import Target
from gridjit.fleet.delivery import bundle_of
from gridjit.fleet.jobs import Job, kernel_of, refusal
from gridjit.runtime.pool.pool import Task
from gridjit.runtime.process.session import session

MAKE = "gridjit.fleet.compiling:make"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a job on a worker.

    origin: "compiled" or "disk", with the code's entries in bundle; error: why it does not compile; needs_launch:
    whether it compiles for a launch only; refused: why this worker does not do it; killed: how many processes ended
    while they compiled it, and ended: how. where: the worker.
    """

    origin: str = ""
    bundle: bytes = b""
    error: str = ""
    needs_launch: bool = False
    refused: str = ""
    killed: int = 0
    ended: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The outcome in the process that compiles. keys: of the code's entries in the cache; the rest as in Result."""

    origin: str = ""
    keys: tuple[str, ...] = ()
    error: str = ""
    needs_launch: bool = False
    refused: str = ""


def compile_job(job: Job) -> Result:
    """Return a job's code, compiled or found by this worker; its toolchain is compared first."""
    why = refusal(job.toolchain) if session().settings.cache else "GRIDJIT_CACHE turns its cache off"
    if why:
        return Result(refused=why, where=name())
    made = _made(job)
    return Result(killed=1, ended=made, where=name()) if isinstance(made, str) else packed(made)


def packed(made: Made) -> Result:
    """Return the outcome of a process of this worker as the worker's, with the code's entries."""
    result = Result(error=made.error, needs_launch=made.needs_launch, refused=made.refused, where=name())
    if not made.keys:
        return result
    try:
        return replace(result, origin=made.origin, bundle=bundle_of(made.keys))
    except GridjitError as error:
        return replace(result, error=str(error))


def name() -> str:
    """Return the name of this worker in messages."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _made(job: Job) -> Made | str:
    """Return the outcome of the process that compiled a job, or how that process ended."""
    here = session()
    count = here.settings.processes_that_serve
    if not count:
        return make(job.need, job.key)
    pool = here.pool(count, Target(kind=dict(job.toolchain)["target.kind"], arch=""))
    try:
        return outcome(job, pool.wait(pool.submit(MAKE, job.need, job.key)))
    except OSError:  # no process can be started
        return make(job.need, job.key)


def outcome(job: Job, task: Task) -> Made | str:
    """Return the outcome of a finished task, or how its process ended; compile here if the task was refused."""
    if task.result is not None:
        made: Made = task.result
        return made
    return task.lost if task.died else make(job.need, job.key)


def make(need: str, key: str) -> Made:
    """Compile a recorded need, unless it is in the cache or the kernel is another here; key: the job's."""
    try:
        work = Job(digest="", need=need, key=key, toolchain=()).work
        kernel = kernel_of(work)
        look = look_at(kernel, work)
    except GridjitError as error:
        return Made(refused=str(error))
    if look.key != key:
        file = kernel.func_code.co_filename
        return Made(
            refused=f"{work.kernel} is another kernel there, in {file}: its source, or a value that it refers to"
        )
    built = build(work)
    if built.error:
        return Made(error=built.error, needs_launch=built.needs_launch)
    stored = look.again().stored
    told = job_entry(session().store(), look.job.kernel, key)
    keys = (stored, key, None if told is None else told.key)
    return Made(origin=built.origin, keys=tuple(name for name in keys if name is not None))
