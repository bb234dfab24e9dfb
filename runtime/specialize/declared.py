"""Ahead: a signature that a kernel declares, on its way through another process into the cache; waited for when used.

The job is made when the signature is declared, as if it were compiled at once: a global counts as it is then. Another
process's answer is not trusted: its code is looked up in the cache, by that job's key or by today's, and checked as
always. Missing code is compiled in this process, which also raises any error.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gridjit.compiler.values.errors import WITHOUT_LAUNCH, LaunchNeededError
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.pool.allowed import why_not
from gridjit.runtime.pool.pool import ProcessPool, Task
from gridjit.runtime.process.session import Session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specialize.request import CannotBeHandedOverError, CompileRequest, Outcome, request_of, to_send

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.specializations.table import Specialization

# Seconds for which a declaration waits until the cache has what a remote cache had; else it is compiled.
_KEEPING_S = 1.0
# The function of a request.
BUILD = "gridjit.runtime.workers.build:build"


class Ahead:
    """A declared signature. look: at its job. why: the reason to compile it in this process, if there is one."""

    def __init__(self, kernel: Kernel, signature: Signature, target: Target, launch: Launch) -> None:
        self.name = kernel.name
        self.signature = signature
        self.target = target
        self.launch = launch
        self.generation = kernel.generation
        self._stats = kernel.stats
        self.look: Look | None = None
        self.why = ""
        self.outcome: Outcome | None = None
        self.is_settled = False
        self._request: CompileRequest | None = None
        self._size = 0
        self._under_way: tuple[ProcessPool, Task] | None = None

    @property
    def is_prepared(self) -> bool:
        """Whether it can be handed over and has not been."""
        return self._request is not None and self._under_way is None and self.outcome is None

    def serves(self, signature: Signature, target: Target) -> bool:
        """Return whether its code may be right for a launch."""
        return self.signature == signature and self.target == target

    def look_for(self, launch: Launch, generation: int) -> Look | None:
        """Return a launch's look at the declared job; None if all was forgotten since then."""
        if self.look is None or generation != self.generation:
            return None
        return Look(self.look.store, self.look.job, self.look.key, launch, time.perf_counter())

    def wait(self, here: Session) -> None:
        """Wait until it is compiled or lost."""
        if self._under_way is None:
            return
        pool, task = self._under_way
        pool.wait(task)
        with here.noting:
            if self._under_way is not None:
                self._under_way = None
                self._note(task, here)
                if pool.no_use:
                    here.without_pool(pool.no_use)

    def is_over(self, here: Session) -> bool:
        """Return whether it is compiled or lost, without waiting."""
        if self._under_way is not None and self._under_way[0].look(self._under_way[1]):
            self.wait(here)
        return self._under_way is None

    def needs_launch(self) -> None:
        """Note that the cache says that it compiles for a launch only."""
        self._settle(Outcome(why=WITHOUT_LAUNCH, needs_launch=True))

    def prepare(self, kernel: Kernel, look: Look) -> None:
        """Make the request for a job that was looked for, or say why there is none."""
        if look.job.private:
            self.why = f"its code stays in each process's memory: {'; '.join(look.job.private)}"
            return
        try:
            self._request = to_send(request_of(kernel, self.signature, self.launch.config, self.target))
            self.look = look
            self._size = len(kernel.py_func.__code__.co_code)
        except CannotBeHandedOverError as error:
            self.why = str(error)

    def send(self, pool: ProcessPool) -> None:
        """Hand over the request, or say why not."""
        try:
            self._under_way = pool, pool.submit(BUILD, self._request, size=self._size)
        except OSError as error:
            self.look, self.why = None, str(error)

    def is_of_no_use(self, reason: str) -> None:
        """Note why this process has compiled it too: the other process's code does not fit."""
        if self.outcome is not None and self.outcome.origin:
            self.why = f"the code that another process compiled does not fit this one: {reason}"

    def told(self) -> str:
        """Its story in words; empty if the cache had it."""
        if self.why:
            needs = "needs a launch, for which it is " if self.outcome and self.outcome.needs_launch else ""
            return f"declared {self.signature}: {needs}compiled in this process: {self.why}"
        if self.outcome is None or self.outcome.origin != "compiled":
            return ""
        return f"declared {self.signature}: compiled in another process, in {self.outcome.milliseconds:.0f} ms"

    def _note(self, task: Task, here: Session) -> None:
        """Take in a task's result."""
        if task.result is None:
            self.why = task.lost
        else:
            self._settle(task.result)
        if self.outcome is not None and self.outcome.private and self.look is not None:
            here.private_jobs.add(self.look.key)
        if self.outcome is not None and self.outcome.unkept:
            here.without_pool(self.why)
        if self.outcome is not None and self.look is not None and here.settings.cache_remotes:
            from gridjit.runtime.specialize.fetched import offer_stored

            offer_stored(self.look, here)
        if said := self.told():
            here.report(lambda: f"{self.name}: {said}")
        if self.outcome is not None:
            self.outcome.warn_again()  # last, as a program may have warnings raised

    def _settle(self, outcome: Outcome) -> None:
        """Take in an outcome; a signature that needs a launch is settled."""
        self.outcome, self.why = outcome, outcome.why
        if outcome.needs_launch:
            self.is_settled = True
            self._stats.count("launches_needed")


def hand_over(
    kernel: Kernel,
    here: Session,
    signature: Signature,
    launch: Launch,
    fetch: Callable[[Look], Specialization | None],
) -> Ahead:
    """Return a declared signature, handed over to other processes unless a cache has it, or a reason forbids it.

    fetch: returns a remote cache's code, which is put into the cache. Raises the job's errors.
    """
    ahead = Ahead(kernel, signature, kernel.target_for(None), launch)
    processes = here.settings.processes_for(kernel.background)
    ahead.why = why_not(kernel, here, processes)
    if ahead.why:
        return ahead
    look = Look.at(here.store(), kernel.job_for(signature, ahead.target), launch)
    if look.stored is None and not look.needs_launch:
        with contextlib.suppress(LaunchNeededError):  # an answer, which comes into the cache as code does
            fetch(look)
        if here.settings.cache_remotes and here.remote is not None:
            here.remote.keep_now(_KEEPING_S)
        look = look.again()
    if look.needs_launch:
        ahead.needs_launch()
        return ahead
    if look.stored is not None:
        ahead.look = look
        return ahead
    ahead.prepare(kernel, look)
    if ahead.is_prepared:
        ahead.send(here.pool(processes, ahead.target))
    return ahead
