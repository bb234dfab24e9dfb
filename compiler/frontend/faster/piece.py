"""Piece: one part of numba-cuda's work in a compile, done in less time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gridjit.base.values import dataclass


class Replace(Protocol):
    """Sets an attribute of an owner for as long as a compile runs, and returns its former value."""

    def __call__(self, owner: Any, name: str, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A faster way, and the functions that it relies on.

    written_for: numba's functions that it replaces or relies on, by module:qualified.name, each with the records of the
        sources that it was written for. install: puts it in their place.
    """

    name: str
    written_for: Mapping[str, tuple[str, ...]]
    install: Callable[[Replace], None]
