"""Watched: objects that may change at any time, compared with what they were as rarely as can be."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from gridjit.compiler.process.stamps import Stamps

One = TypeVar("One")


class Watched(Generic[One]):
    """Objects, and what each was when it was added.

    look: returns what is compared of an object; same: whether it is that still; stamps_of: returns what tells at once
    which objects may have changed, None if nothing does.
    """

    def __init__(
        self,
        look: Callable[[One], Any],
        same: Callable[[One, Any], bool],
        stamps_of: Callable[[Sequence[One]], Stamps | None] = lambda _: None,
    ) -> None:
        self.objects: list[One] = []
        self.then: list[Any] = []
        self._look, self._same, self._stamps_of = look, same, stamps_of
        self._stamps: Stamps | None = None

    def add(self, found: Iterable[One]) -> None:
        """Watch these too, from now on."""
        start = len(self.objects)
        self.objects.extend(found)
        before, self._stamps = self._stamps, self._stamps_of(self.objects)
        now = None if self._stamps is None else self._stamps.read()  # before a look: what changes meanwhile is compared
        self.then.extend(map(self._look, self.objects[start:]))
        if self._stamps is not None:
            self._stamps.settle_as(before, now)

    def hold(self) -> bool:
        """Return whether all are what they were; of those that were compared before, only changed ones are."""
        if self._stamps is None:
            return all(map(self._same, self.objects, self.then))
        now = self._stamps.read()
        if not all(self._same(self.objects[index], self.then[index]) for index in self._stamps.changed(now)):
            return False
        self._stamps.settle(now)
        return True

    def news(self) -> list[tuple[int, Any]]:
        """Return the index of each that is not what it was, with that; what it is now is compared from then on."""
        now = None if self._stamps is None else self._stamps.read()
        candidates = range(len(self.objects)) if self._stamps is None else self._stamps.changed(now)
        found = [index for index in candidates if not self._same(self.objects[index], self.then[index])]
        before = [(index, self.then[index]) for index in found]
        for index in found:
            self.then[index] = self._look(self.objects[index])
        if self._stamps is not None:
            self._stamps.settle(now)
        return before


def same_items(table: dict[Any, Any], then: dict[Any, Any]) -> bool:
    """Return whether a dictionary has the very items that it had, in their order."""
    return (
        len(table) == len(then)
        and all(map(operator.is_, table.values(), then.values()))
        and all(map(operator.is_, table, then))
    )
