"""served: the compile server compiles for a launch, so that this process does not import the compiler.

The server's answers are not trusted. Its code is found in the cache by the key that this process made, and is checked
like any entry; if it is not found, this process compiles.
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

# After so many kernels in a row that the server did not serve, it is not asked any more.
_MOST_IN_VAIN = 3
_UNFIT = "what it compiled does not fit this program"


def served(
    look: Look, cold: Cold, find: Callable[[], Specialization | None], reason: Callable[[], str]
) -> Specialization | None:
    """Return the server's code for a launch, as found in the cache; without any, None, and a line in the log.

    reason: returns why it is needed, called while the server compiles.
    """
    made = _made(look, cold, find, reason)
    if not isinstance(made, str):
        return made
    not_served(made, cold)
    return None


def _made(
    look: Look, cold: Cold, find: Callable[[], Specialization | None], reason: Callable[[], str]
) -> Specialization | str:
    """Return the server's code, or why there is none.

    Its workers import modules once, so an unfit result may be of a module that was edited since; then new workers
    compile it once more.
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
    """Let the compile server compile; return its outcome, and the reason, which is found meanwhile.

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
    """Count a request that failed, unless because of the kernel itself; return why it failed."""
    here, why = cold.here, outcome.why or _UNFIT
    if not outcome.why or outcome.differs or outcome.unkept or outcome.is_lost:
        here.in_vain += 1
        if here.in_vain >= _MOST_IN_VAIN:
            here.no_server = here.no_server or f"it was asked in vain for {here.in_vain} kernels, the last time: {why}"
    return why
