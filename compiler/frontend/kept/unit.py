"""Unit: what the front end made of one callee, with all that it asked for while it did so.

It can replace a compile if each question still has the same answer. Then the answers are recorded for the kernel at
hand, as that compile would record them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gridjit.compiler.frontend.kept.asked import Question
from gridjit.compiler.frontend.kept.surroundings import Surroundings


class ResultPlace(Protocol):
    """Where numba looks for what a callee was compiled to. It holds nothing of other compiles: see isolation."""

    @property
    def told(self) -> str | None:
        """The name of a function of numba-cuda's own in any process; None if it has none, and for other functions."""

    def found(self, empty: Callable[[Any], None]) -> Any:
        """Return the result that is there in the compile under way; None if there is none yet.

        empty: has a dispatcher forget what other compiles left in it.
        """

    def put(self, result: Any) -> None:
        """Put a result there until the compile ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """One callee for one list of argument types.

    place: where numba looks for it. result: what numba made of it. surroundings: what no question asks for. events:
    what it asked for, and the units that it used, in their order. name: what people call it; "" for numba-cuda's own.
    """

    place: ResultPlace
    result: Any
    surroundings: Surroundings
    events: tuple[Question | Unit, ...]
    name: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it from other events of a unit."""
        return (Unit, id(self))
