"""served: has the compile server make what a launch needs, so that this process does not import the compiler.

Nothing that the server says is trusted. What it made is found in the cache by the key that this process made, and is
checked like any entry; where it is not found, this process compiles.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from gridjit.compiler.values.phases import phase
from gridjit.runtime.specialize.declared import BUILD
from gridjit.runtime.specialize.request import CannotBeHandedOverError, Outcome, request_of, to_send
from gridjit.runtime.specialize.servable import not_served

if TYPE_CHECKING:
    from gridjit.runtime.specializations.look import Look
    from gridjit.runtime.specializations.table import Specialization
    from gridjit.runtime.specialize.cold import Cold

# For how many kernels in a row the server may be asked in vain, until it is not asked any more.
_MOST_IN_VAIN = 3
_UNFIT = "what it compiled does not fit this program"


def served(
    look: Look, cold: Cold, find: Callable[[], Specialization | None], reason: Callable[[], str]
) -> Specialization | None:
    """Return what the compile server made for a launch, as it is found then; None, and a line in the log, if nothing.

    reason: what returns why it is needed, asked while the server compiles.
    """
    made = _made(look, cold, find, reason)
    if not isinstance(made, str):
        return made
    not_served(made, cold)
    return None


def _made(
    look: Look, cold: Cold, find: Callable[[], Specialization | None], reason: Callable[[], str]
) -> Specialization | str:
    """Return what the server made, or why nothing.

    Its workers import modules once, so what does not fit may be of a module that was edited since; then it is made once
    more, by new workers.
    """
    for _ in range(2):
        outcome, needed = _asked(look, cold, reason)
        if (not outcome.why or outcome.needs_launch) and (found := find()) is not None:
            cold.here.in_vain = 0
            outcome.warn_again()
            return dataclasses.replace(found, origin="served", reason=needed)
        if outcome.why and not outcome.differs:
            break
        cold.here.renew_server()
    if outcome.private:
        cold.here.private_jobs.add(look.key)
    return _noted(outcome, cold)


def _asked(look: Look, cold: Cold, reason: Callable[[], str]) -> tuple[Outcome, str]:
    """Have the compile server compile; return what came of it, and the reason, which is looked for meanwhile.

    If it cannot be asked, it is not asked later either.
    """
    here, job = cold.here, look.job
    try:
        with phase("compile server"):
            pool = here.server(job.target)
            request = to_send(request_of(cold.form, job.signature, look.launch.config, job.target))
            task = pool.submit(BUILD, request)
            needed = reason()
            pool.wait(task)
    except CannotBeHandedOverError as error:
        return Outcome(why=str(error)), ""
    except OSError as error:
        here.no_server = str(error)
        return Outcome(why=here.no_server), ""
    here.no_server = here.no_server or pool.no_use
    return task.result or Outcome(why=task.lost, is_lost=True), needed


def _noted(outcome: Outcome, cold: Cold) -> str:
    """Note that the server was asked in vain, unless that is because of the kernel itself; return why it was."""
    here, why = cold.here, outcome.why or _UNFIT
    if not outcome.why or outcome.differs or outcome.unkept or outcome.is_lost:
        here.in_vain += 1
        if here.in_vain >= _MOST_IN_VAIN:
            here.no_server = here.no_server or f"it was asked in vain for {here.in_vain} kernels, the last time: {why}"
    return why
