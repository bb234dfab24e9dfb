"""Isolation: one compile's record of its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gridjit.compiler.frontend.isolated.recursion import Waiting
from gridjit.compiler.frontend.kept.asked import Raised
from gridjit.compiler.frontend.kept.drafts import Drafts
from gridjit.compiler.frontend.kept.keeping import Keeping
from gridjit.compiler.frontend.narrow.telling import ShownWarnings
from gridjit.compiler.view.config import ConfigView


@dataclass(slots=True)
class Isolation:
    """One compile's record of its inputs.

    discovered: functions of @overload and @intrinsic, in the order of their use.
    exceptions: the raises by return code. Codes are digests: callees' never collide with a kernel's,
        and they agree between processes.
    waiting: functions that were called before their compile had ended.
    without_narrow_floats: whether it began without numba-cuda's floats of 16 and 8 bits. told: its warnings then.
        told_before: the warnings of the same compile without them; None if there was none.
    needs_all: whether it is to load all deferred modules. met_a_word: whether it ended at a word that is left out.
    drafts: the callees that are being compiled. keeping: the use of kept callees; None if this compile keeps none.
    """

    view: ConfigView
    discovered: dict[Any, None] = field(default_factory=dict)
    exceptions: dict[int, Raised] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)
    drafts: Drafts = field(default_factory=Drafts)
    keeping: Keeping | None = None
    waiting: list[Waiting] = field(default_factory=list)
    without_narrow_floats: bool = False
    told: ShownWarnings = field(default_factory=ShownWarnings)
    told_before: ShownWarnings | None = None
    needs_all: bool = False
    met_a_word: bool = False

    def meet_a_word(self) -> None:
        """Note that it ended at a word that is left out."""
        self.met_a_word = True
