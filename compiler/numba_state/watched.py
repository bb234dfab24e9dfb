"""Watched: objects that may change at any time, compared with their last state only where stamps do not tell."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from gridjit.compiler.numba_state.stamps import Stamps

One = TypeVar("One")


class Watched(Generic[One]):
    """Objects, and the state of each at the last look.

    look: returns the states of objects. same: whether an object still has a state.
    stamps_of: returns the objects' stamps, which tell at once which of them may have changed; None if there are none.
    """

    def __init__(
        self,
        look: Callable[[Sequence[One]], list[Any]],
        same: Callable[[One, Any], bool],
        stamps_of: Callable[[Sequence[One]], Stamps | None] = lambda _: None,
    ) -> None:
        self.objects: list[One] = []
        self.then: list[Any] = []
        self._look, self._same, self._stamps_of = look, same, stamps_of
        self._stamps: Stamps | None = None

    def add(self, found: Iterable[One]) -> None:
        """Watch these too, from now on."""
        new = [*found]
        # Read before the look: an object that changes meanwhile is compared next time.
        if (stamps := self._stamps_of(new)) is not None:
            stamps.settle(stamps.read())
        looked = self._look(new)
        self.objects += new
        self.then += looked
        if self._stamps is None or stamps is None:
            self._stamps = stamps if len(new) == len(self.objects) else None
        else:
            self._stamps.add(stamps)

    def hold(self) -> bool:
        """Return whether all have their states. Where there are stamps, only objects with other stamps are compared."""
        if self._stamps is None:
            return all(map(self._same, self.objects, self.then))
        now = self._stamps.read()
        if not all(self._same(self.objects[index], self.then[index]) for index in self._stamps.changed(now)):
            return False
        self._stamps.settle(now)
        return True

    def news(self) -> list[tuple[int, Any]]:
        """Return the index and the former state of each object that has changed, and take over its state now."""
        now = None if self._stamps is None else self._stamps.read()
        candidates = range(len(self.objects)) if self._stamps is None else self._stamps.changed(now)
        found = [index for index in candidates if not self._same(self.objects[index], self.then[index])]
        before = [(index, self.then[index]) for index in found]
        for index, now_is in zip(found, self._look([self.objects[index] for index in found]), strict=True):
            self.then[index] = now_is
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


def copies(tables: Sequence[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """Return copies of dictionaries."""
    return [*map(dict, tables)]
