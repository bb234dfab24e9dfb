"""matched: the template that matched a call in an earlier compile, where only types tell the two compiles apart."""

from __future__ import annotations

from typing import Any

from gridjit.base.values import dataclass
from gridjit.compiler.frontend.faster.flags import text_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Match:
    """A call's resolution in an earlier compile.

    templates: the function's at that time. winner: the template that matched, and whether literal types were given.
    answer: its result; None if it has to be asked again, since the answer depends on the compile's flags.
    """

    surroundings: object
    templates: tuple[Any, ...]
    winner: tuple[Any, bool]
    answer: tuple[Any, Any] | None
    alive: object

    @property
    def depends_on_flags(self) -> bool:
        """Whether a template of @overload or @intrinsic was tried."""
        return self.answer is None


# By the call's key, and by the flags' text where these count. surroundings: one object for all compiles that differ in
# types only, set for the duration of a compile; None if that is not known of the compile.
_kept: dict[Any, Match] = {}
_MOST_KEPT = 4096
surroundings: object | None = None


# How many callees were compiled, or taken as if they were.
_compiled = [0]


def compiled() -> int:
    """Return how many were compiled until now."""
    return _compiled[0]


def note_compiled() -> None:
    """Note that a callee is compiled, or taken as if it were. Trying a template may have one compiled."""
    _compiled[0] += 1


def match_for(function: Any, key: Any, flags: Any) -> Match | None:
    """Return a call's resolution in an earlier compile; None if it is not known."""
    if surroundings is None:
        return None
    found = _kept.get((id(surroundings), key)) or _kept.get((id(surroundings), key, text_of(flags)))
    return found if found is not None and found.templates == tuple(function.templates) else None


def keep(key: Any, function: Any, flags: Any, winner: tuple[Any, bool], answer: Any, alive: object) -> None:
    """Keep a call's resolution for later compiles. answer: None if it also depends on the flags."""
    if surroundings is None:
        return
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[(id(surroundings), key, *((text_of(flags),) if answer is None else ()))] = Match(
        surroundings=surroundings,
        templates=tuple(function.templates),
        winner=winner,
        answer=answer,
        alive=alive,
    )
