"""Shelving: one compile's use of the units that are kept on a shelf, and the units that it will put there.

An entry has the units of one function for the same arguments and options, under a digest of these, of the function's
own code and of the compile's surroundings. Each unit holds its calls and reads as questions, which are asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from gridjit.compiler.frontend.kept.asked import Asking, Question
from gridjit.compiler.frontend.kept.drafts import Unit
from gridjit.compiler.frontend.kept.reviving import Demands, revived
from gridjit.compiler.frontend.kept.stored_record import MOST_ALIKE, StoredUnit, from_bytes, to_bytes
from gridjit.compiler.frontend.kept.told import digest_texts, told_function
from gridjit.compiler.frontend.kept.type_rows import row_of, rows_of
from gridjit.compiler.frontend.kept.writing import stored
from gridjit.compiler.view.recording import Shelf

# Raise it whenever the meaning of a stored unit changes.
_SCHEMA = "4"
# Bytes of an entry.
_LARGEST = 4 << 20


class Shelving:
    """The shelf, for one compile. told: the text of the compile's surroundings."""

    def __init__(self, shelf: Shelf, told: str) -> None:
        self._shelf = shelf
        self._told = told
        # Entries read from the shelf, and keys being read: functions that call each other would go on for ever.
        self._entries: dict[str, tuple[StoredUnit, ...]] = {}
        self._being_asked: set[str] = set()
        self._to_put: list[tuple[str, Unit, FunctionType]] = []

    def key(
        self, function: Any, arguments: Sequence[Any], returns: Any, options: Sequence[str], *, whole: bool = False
    ) -> str | None:
        """Return the key of a function for argument types, None if one of these cannot be told.

        returns: the type that it has to return, None for any. whole: with all that the function holds, since the
        values in numba-cuda's own functions have no questions.
        """
        code = told_function(function, whole=whole) if type(function) is FunctionType else None
        rows, row = rows_of(arguments), None if returns is None else row_of(returns)
        if code is None or rows is None or (row is None and returns is not None):
            return None
        if any(" at 0x" in option for option in options):
            return None
        return digest_texts((_SCHEMA, self._shelf.around, self._told, code, repr(rows), repr(row), *options)) * 2

    def found(
        self, key: str, function: FunctionType | None, asking: Asking, demands: Demands
    ) -> tuple[Any, tuple[Question | Unit, ...]] | None:
        """Return numba's result and the events of the unit under key that holds; None if there is none.

        function: None for a function of numba-cuda's own, which its key identifies.
        """
        if key in self._being_asked:
            return None
        self._being_asked.add(key)
        try:
            for one in self._entry(key):
                if (found := revived(one, function, asking, demands)) is not None:
                    self._shelf.was_used = True
                    return found
        finally:
            self._being_asked.discard(key)
        return None

    def will_put(self, key: str, unit: Unit, function: FunctionType) -> None:
        """Put a new unit on the shelf when the compile ends."""
        self._to_put.append((key, unit, function))

    def put(self) -> None:
        """Put the new units on the shelf."""
        for key, unit, function in self._to_put:
            if (new := stored(unit, function)) is not None:
                data = to_bytes((new, *self._entry(key)[: MOST_ALIKE - 1]))
                if len(data) <= _LARGEST:
                    self._shelf.put(key, data)

    def _entry(self, key: str) -> tuple[StoredUnit, ...]:
        if key not in self._entries:
            self._entries[key] = from_bytes(self._shelf.get(key))
        return self._entries[key]
