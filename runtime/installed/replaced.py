"""Replaced: attributes that were given other values, so that all of them can be restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Replaced:
    """Replaced attributes, in order; undo() restores them in the opposite order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Replace owner's attribute until undo()."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self.then(lambda: delattr(owner, name) if before is _ABSENT else setattr(owner, name, before))

    def put(self, table: dict[str, Any], name: str, value: Any) -> None:
        """Replace a table's entry until undo()."""
        before = table.pop(name, _ABSENT)  # numba's tables do not let an entry be replaced
        table[name] = value

        def undo() -> None:
            table.pop(name, None)
            if before is not _ABSENT:
                table[name] = before

        self.then(undo)

    def remove(self, table: dict[str, Any], name: str) -> None:
        """Remove a table's entry until undo()."""
        if name in table:
            value = table.pop(name)
            self.then(lambda: table.setdefault(name, value))

    def then(self, undo: Callable[[], Any]) -> None:
        """Add a function that undo() calls."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Restore all replaced attributes; more than once does no harm."""
        while self._undo:
            self._undo.pop()()
