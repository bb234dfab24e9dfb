"""Storing: of the functions that a compile wants called, those that another process can make again, and why not others.

What cannot be made again keeps its artifact in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gridjit.compiler.hooks.description import NotRepeatableError, hook_of, storable_hook
from gridjit.compiler.hooks.hook import Hook


def storable(callbacks: Iterable[Callable[..., Any]]) -> tuple[Hook, ...]:
    """Return what an artifact says of those that another process can make again."""
    found = (storable_hook(callback) for callback in callbacks)
    return tuple(hook for hook in found if hook is not None)


def reasons_not_to_store(kind: str, callbacks: Iterable[Callable[..., Any]]) -> tuple[str, ...]:
    """Return, for each of the others, why it cannot be made again. kind: what they are called there."""
    return tuple(reason for callback in callbacks if (reason := _reason(kind, callback)))


def _reason(kind: str, callback: Callable[..., Any]) -> str:
    try:
        hook_of(callback)
    except NotRepeatableError as reason:
        return f"the {kind} {callback!r} cannot be imported by name, or made again: {reason}"
    return ""
