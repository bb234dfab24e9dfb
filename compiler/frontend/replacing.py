"""replace: put something in the place of another, for the time of one compile."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any


def replace(undo: contextlib.ExitStack, owner: Any, name: str, value: Any) -> Any:
    """Set an attribute of owner until undo is closed, and return what it was."""
    original = inspect.getattr_static(owner, name)
    undo.callback(setattr, owner, name, original)
    setattr(owner, name, value)
    return original
