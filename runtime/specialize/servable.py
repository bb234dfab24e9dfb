"""servable: whether the compile server may compile for a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.compiler.view.config import current_view
from gridjit.runtime.pool.allowed import why_not
from gridjit.runtime.specialize.capture import is_captured

if TYPE_CHECKING:
    from gridjit.runtime.specializations.look import Look
    from gridjit.runtime.specialize.cold import Cold


def why_here(look: Look, cold: Cold) -> str:
    """Return why this process must compile; empty if the compile server may."""
    if look.job.private:
        return f"its code stays in this process's memory: {'; '.join(look.job.private)}"
    if current_view() is not None:
        return "it is compiled in the middle of another compile"
    if is_captured(cold.kernel):
        return "capture_compile_config() wants to see its compile"
    if "_compile_for_args" in vars(cold.kernel):
        return "the program has a function in the compiler's place"
    return cold.here.no_server or why_not(cold.form, cold.here, cold.here.settings.processes_that_serve)


def not_served(why: str, cold: Cold) -> None:
    """Log that this process compiles, and why."""
    cold.here.report(lambda: f"{cold.form.name}: not compiled by the compile server: {why}")
