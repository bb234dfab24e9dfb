"""noticing: the events in a compile after which the callees that are being compiled cannot become units."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import on_undo, replace
from gridjit.compiler.frontend.kept.callees import Callees
from gridjit.compiler.frontend.kept.drafts import Drafts

# The drafts of the compile under way, and of the compiles around it.
_running: list[Drafts] = []


def suspend_others(drafts: Drafts) -> None:
    """Begin a compile with drafts of its own: until it ends, the drafts of a compile around it note nothing.

    A callee that an outer compile is compiling may depend on this compile, so it does not become a unit.
    """
    global _running
    for one in _running:
        one.spoil_all("another kernel was compiled meanwhile")
        on_undo(functools.partial(setattr, one, "suspended", one.suspended))
        one.suspended = True
    on_undo(functools.partial(_run_again, _running))
    _running = [*_running, drafts]


def _run_again(drafts: list[Drafts]) -> None:
    global _running
    _running = drafts


def note_what_spoils(drafts: Drafts) -> None:
    """Spoil drafts on recursion, whose results numba-cuda only knows together, and on messages to the user."""
    from numba.cuda.typing.context import CallStack

    def findfirst(stack: Any, function: Any) -> Any:
        found = find(stack, function)
        if found is not None:
            drafts.spoil_all("it is part of a recursion")
        return found

    def show(message: Any) -> None:
        drafts.spoil_all("its compile gave a warning")
        shown(message)

    find = replace(CallStack, "findfirst", findfirst)
    shown = replace(warnings, "_showwarnmsg", show)


def reuse_internal_functions(callees: Callees) -> None:
    """Take the functions that numba-cuda's lowering compiles from units, until the changes are undone."""
    from numba.cuda.core.base import BaseContext
    from numba.cuda.target import CUDATargetContext

    def compile_new(context: Any, builder: Any, impl: Any, sig: Any, locals: Any = None, flags: Any = None) -> Any:
        def compile_it() -> Any:
            return new_original(context, builder, impl, sig, locals=locals, flags=flags)

        return compile_it() if locals else callees.internal_function(context, impl, sig, flags, compile_it)

    def compile_subroutine(context: Any, *args: Any, **named: Any) -> Any:
        result = original(context, *args, **named)
        callees.use(result)
        return result

    new_original = replace(CUDATargetContext, "_compile_subroutine_no_cache", compile_new)
    original = replace(BaseContext, "compile_subroutine", compile_subroutine)
