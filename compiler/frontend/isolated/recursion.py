"""Recursion: a function may call one whose compile has begun and not ended: itself for other types, or its caller.

numba-cuda types such calls, and has no code for them. All of a kernel is linked as a whole, so a declaration is enough.
"""

from __future__ import annotations

import functools
from typing import Any

from gridjit.compiler.frontend.isolated.replacing import on_undo, replace

_REFERENCE = "insert_unresolved_ref"


def allow_recursion() -> None:
    """Let functions call each other in a circle, until the changes are undone."""
    from numba.cuda import cgutils
    from numba.cuda.codegen import JITCUDACodegen
    from numba.cuda.lowering import Lower

    def declared(codegen: Any, builder: Any, kind: Any, name: str) -> Any:
        return cgutils.get_or_insert_function(builder.module, kind, name)

    def lower_call(lower: Any, called: Any, expression: Any, signature: Any) -> Any:
        _link(lower.library, called, signature)
        return original(lower, called, expression, signature)

    original = replace(Lower, "_lower_call_RecursiveCall", lower_call)
    if not hasattr(JITCUDACodegen, _REFERENCE):
        on_undo(functools.partial(_forget, JITCUDACodegen))
        setattr(JITCUDACodegen, _REFERENCE, declared)


def _forget(codegen: type) -> None:
    if _REFERENCE in vars(codegen):  # else it is undone already
        delattr(codegen, _REFERENCE)


def _link(library: Any, called: Any, signature: Any) -> None:
    """Link what is called, if its compile has ended; else it is linked by what waits for this one."""
    found = called.dispatcher_type.dispatcher.overloads.get(signature.args)
    if found is not None and found.library is not library:
        library.add_linking_library(found.library)
