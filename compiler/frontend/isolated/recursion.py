"""Recursion: functions that call each other in a circle, and chains of callees, in Python and in numba-cuda.

A function may call another whose compile has begun and not ended: itself for other types, or its caller. numba-cuda
types these calls, and has no code for them. All of a kernel is linked as a whole, so a declaration is enough.
numba-cuda recurses some thirty Python frames for a callee of a callee.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import on_undo, put, replace
from gridjit.compiler.frontend.kept.keeping import Keeping

_REFERENCE = "insert_unresolved_ref"


# A function that was called while its compile had not ended: its dispatcher and the types of the arguments.
Waiting = tuple[Any, Any]


def allow_recursion(waiting: list[Waiting], keeping: Keeping | None) -> None:
    """Let functions call each other in a circle, until the changes are undone. waiting: gets the declared callees."""
    from numba.cuda import cgutils
    from numba.cuda.codegen import JITCUDACodegen
    from numba.cuda.lowering import Lower

    def declared(codegen: Any, builder: Any, kind: Any, name: str) -> Any:
        return cgutils.get_or_insert_function(builder.module, kind, name)

    def lower_call(lower: Any, called: Any, expression: Any, signature: Any) -> Any:
        if keeping is not None:
            keeping.meet_recursion()
        waiting.append((called.dispatcher_type.dispatcher, signature.args))
        # numba-cuda asks the context for the calling convention there, which warns: a function's own is the lowering's.
        context = type(lower.context)
        asked = replace(context, "call_conv", lower.call_conv)
        try:
            return original(lower, called, expression, signature)
        finally:
            context.call_conv = asked

    original = replace(Lower, "_lower_call_RecursiveCall", lower_call)
    if not hasattr(JITCUDACodegen, _REFERENCE):
        put(JITCUDACodegen, _REFERENCE, declared)


def link_what_was_waited_for(library: Any, waiting: list[Waiting]) -> None:
    """Link the callees that were only declared to a kernel's library: the compile that began one may not use it."""
    for dispatcher, arguments in waiting:
        found = dispatcher.overloads.get(arguments)
        if found is not None:
            library.add_linking_library(found.library)


# Frames: enough for chains of a hundred device functions, and small beside a thread's stack.
_ENOUGH = 5000


def allow_depth() -> None:
    """Let Python recurse deep enough for chains of callees, until the changes are undone."""
    before = sys.getrecursionlimit()
    if before < _ENOUGH:
        on_undo(functools.partial(_limit_again, before))
        sys.setrecursionlimit(_ENOUGH)


def _limit_again(limit: int) -> None:
    # Python refuses it to a caller that is deeper than that; the next compile tries again.
    with contextlib.suppress(RecursionError):
        sys.setrecursionlimit(limit)
