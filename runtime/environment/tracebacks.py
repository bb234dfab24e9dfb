"""Tracebacks: errors of gridjit show users their own frames. GRIDJIT_TRACEBACK=full shows all frames, and the cause.

Every function that users call, and that may compile, passes errors through `trim`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from gridjit.compiler.values.errors import CompileError, GridjitError
from gridjit.runtime.environment.settings import settings

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# The attribute of an exception that a kernel raised: any class may be raised in kernels.
_OF_A_KERNEL = "_gridjit_kernel"
_OURS = frozenset({"gridjit", "numba", "numba_cuda", "llvmlite"})


def for_users(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return call, with its errors of ours trimmed."""

    @functools.wraps(call)
    def called(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        try:
            return call(*args, **keywords)
        except BaseException as error:
            if is_for_users(error):
                trim(error)
            raise

    return called


def is_for_users(error: BaseException) -> bool:
    """Return whether an error is about the user's program: ours, a kernel's exception, or an interrupt of a launch."""
    return isinstance(error, GridjitError | KeyboardInterrupt) or _OF_A_KERNEL in vars(error)


def note_as_kernels(error: BaseException) -> None:
    """Mark an exception of a kernel to be trimmed like errors of ours."""
    with contextlib.suppress(AttributeError):  # its class may have no room for it
        setattr(error, _OF_A_KERNEL, True)


def trim(error: BaseException) -> None:
    """Leave only the user's frames of an error that is about to be raised again, and of its causes.

    A cause without such a frame is left out whole: the message has its meaning. Called where the error was caught,
    before a bare `raise`: that adds no frame (from Python 3.11 on; before, the caller's own stays). If a setting asks
    for all frames, the message is full, too.
    """
    if _is_full():
        _say_all(error)
        return
    if isinstance(error, CompileError) and error.original is not None and error.__cause__ is error.original:
        error.__cause__ = None  # which also hides the context
    _trim_origin(error)
    top = error.__traceback__
    if top is not None:
        top.tb_next = _users(top.tb_next)
        error.__traceback__ = top.tb_next


def _trim_origin(error: BaseException) -> None:
    """Leave only the causes and contexts of an error that the user's program raised."""
    # A program may raise two errors from each other.
    seen: set[int] = set()
    while (cause := error.__cause__) is not None and id(error) not in seen:
        seen.add(id(error))
        cause.__traceback__ = _users(cause.__traceback__)
        if cause.__traceback__ is None:
            error.__cause__ = None  # which leaves the context hidden
            return
        error = cause
    if cause is None:
        error.__context__ = _users_context(error)


def _users_context(error: BaseException) -> BaseException | None:
    """Return the exception that the user's program was handling when an error was raised; None without any."""
    context = error.__context__
    while context is not None and (context.__traceback__ is None or _is_ours(context.__traceback__)):
        context = context.__context__
    return context


def _is_full() -> bool:
    try:
        return settings().traceback == "full"
    except GridjitError:  # a wrong setting, which is what the error says
        return False


def _say_all(error: BaseException) -> None:
    from gridjit.compiler.frontend.isolated.launch_visibility import said_by

    if isinstance(error, CompileError) and error.original is not None:
        said = f"\n\n{type(error.original).__name__}: {said_by(error.original)}"
        if said not in str(error):
            error.args = (f"{error}{said}",)


def _users(found: TracebackType | None) -> TracebackType | None:
    """Return the user's entries of a traceback: neither ours, nor of modules that we call, such as contextlib."""
    entries = []
    while found is not None:
        entries.append(found)
        found = found.tb_next
    kept: TracebackType | None = None
    for entry in reversed(entries):
        if not _is_ours(entry):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_ours(entry: TracebackType) -> bool:
    module = entry.tb_frame.f_globals.get("__name__")
    top = module.partition(".")[0] if isinstance(module, str) else ""
    return top in _OURS or (top in sys.stdlib_module_names and top != "__main__")
