"""replacing: what a compile replaces in numba-cuda, and how all of it is undone.

Guarded by numba's lock. Each change can be undone alone, and even twice. So whatever a compile leaves that is cut
short anywhere, by an interrupt or by a fork in another thread, the next one can undo.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

# What undoes the changes of the running compile and of those that it runs inside, in their order.
_changes: list[Callable[[], object]] = []


def replace(owner: Any, name: str, value: Any) -> Any:
    """Set an attribute of owner until the change is undone, and return what it was."""
    original = inspect.getattr_static(owner, name)
    on_undo(functools.partial(setattr, owner, name, original))
    setattr(owner, name, value)
    return original


def on_undo(undo: Callable[[], object]) -> None:
    """Have undo called when the changes made until now are undone."""
    _changes.append(undo)


def changes_now() -> int:
    """Return how many changes there are. Given to undo_to, that undoes those made from now on."""
    return len(_changes)


def undo_to(start: int) -> None:
    """Undo all changes except the first `start`, the last one first."""
    while len(_changes) > start:
        _changes[-1]()
        del _changes[-1]
