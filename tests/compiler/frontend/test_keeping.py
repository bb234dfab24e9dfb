"""Whether a unit holds is asked once in a compile, and is said of that unit only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gridjit.compiler.frontend.kept.asked import Asking
from gridjit.compiler.frontend.kept.drafts import Drafts, Unit
from gridjit.compiler.frontend.kept.keeping import Callee, Keeping
from gridjit.compiler.frontend.kept.places import OfKernel
from gridjit.compiler.frontend.kept.surroundings import Surroundings
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A question that has the same answer today, or not."""

    same: bool

    @property
    def identity(self) -> tuple[object, ...]:
        return (Answered, id(self))

    def today(self, asking: Asking) -> Answered | None:
        return self if self.same else None

    def record(self, asking: Asking) -> None:
        """Nothing counts."""


def test_a_unit_that_comes_where_another_was_let_go_of_is_asked_itself() -> None:
    view, surrounding = ConfigView(None), Surroundings((), (), lambda: None)
    asking = Asking(reads=Reads(lambda: None), recording=recording_of(view), number=lambda *given: 0)
    keeping = Keeping(view, asking, lambda: surrounding, Drafts(), lambda dispatcher: None)

    def is_found(same: bool) -> bool:
        unit = Unit(place=OfKernel(), result=None, surroundings=surrounding, events=(Answered(same),))
        # A table that other threads' compiles replace its units in is gone before the next one is asked about.
        table: Any = {0: (unit,)}
        return keeping._found(Callee(place=OfKernel(), function=None, table=table, key=0)) is not None

    assert [is_found(same) for same in (True, False, True, False)] == [True, False, True, False]
