"""Living: objects that are known as long as they live; safe to iterate while other threads add to them."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

Member = TypeVar("Member")


class Living(Generic[Member]):
    """A weak set without a lock: a child that is forked meanwhile has nothing to wait for."""

    def __init__(self) -> None:
        self._members: dict[int, weakref.ref[Member]] = {}

    def add(self, member: Member) -> None:
        """Know member from now on."""
        key, members = id(member), self._members
        members[key] = weakref.ref(member, lambda _: members.pop(key, None))

    def list(self) -> list[Member]:
        """Return those that live now."""
        # Copied in one step, as a set of weak references cannot be.
        return [member for known in [*self._members.values()] if (member := known()) is not None]
