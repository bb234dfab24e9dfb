"""Drafts: the callees that are being compiled, each within its caller, with the questions that each asked.

A question of the front end is noted by the innermost draft, and recorded by the compile as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any, Protocol

from gridjit.compiler.frontend.kept.asked import (
    Called,
    Content,
    Free,
    FunctionCode,
    Global,
    Launched,
    ModuleAttribute,
    Question,
)
from gridjit.compiler.frontend.kept.plain import is_numbas, mark_of
from gridjit.compiler.frontend.kept.surroundings import Surroundings
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.source.code import with_nested
from gridjit.compiler.source.libraries import is_library, is_library_module
from gridjit.compiler.values.footprint import Fact


class ResultPlace(Protocol):
    """The place where numba looks for a callee's result. It holds nothing of other compiles: see isolation."""

    @property
    def told(self) -> str | None:
        """The name of a function of numba-cuda's own in any process; None if it has none, and for other functions."""

    def found(self, empty: Callable[[Any], None]) -> Any:
        """Return the result that is there in the compile under way; None if there is none yet.

        empty: clears other compiles' results from a dispatcher.
        """

    def put(self, result: Any) -> None:
        """Put a result there until the compile ends."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """One callee for one list of argument types.

    place: where numba looks for it. result: numba's. surroundings: inputs that no question asks for. events: the
    questions that it asked, and the units that it used, in their order. name: for people; "" for numba-cuda's own.
    """

    place: ResultPlace
    result: Any
    surroundings: Surroundings
    events: tuple[Question | Unit, ...]
    name: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Its key among the events of a unit."""
        return (Unit, id(self))


class Draft:
    """A callee that is being compiled, and its events so far. spoiled: why it cannot become a unit."""

    def __init__(self, function: FunctionType) -> None:
        self.events: list[Question | Unit] = []
        self.spoiled = ""
        self._codes = {id(code) for code in with_nested(function.__code__)}
        self._noted: set[tuple[object, ...]] = set()

    def note(self, event: Question | Unit) -> None:
        """Add an event, unless it was noted before."""
        if event.identity not in self._noted:
            self._noted.add(event.identity)
            self.events.append(event)

    def contains(self, function: FunctionType) -> bool:
        """Return whether a function is the draft's, made in it, or numba-cuda's own."""
        return id(function.__code__) in self._codes or is_numbas(function)


class Drafts:
    """The drafts of one compile, the innermost last; while that one is None, nothing is noted.

    failed: the last one that did not compile.
    """

    def __init__(self) -> None:
        self._open: list[Draft | None] = []
        self.suspended = False
        self.failed: Draft | None = None

    def begin(self, draft: Draft | None) -> None:
        """Note the events that follow in draft, or nowhere if it is None."""
        self._open.append(draft)

    def end(self, draft: Draft | None) -> None:
        """Leave draft, and all that was begun in it."""
        while self._open and self._open.pop() is not draft:
            pass

    def fail(self, draft: Draft) -> None:
        """Leave a draft that did not compile: the draft that tried it depends on all that it depended on."""
        self.end(draft)
        self.depend_on(draft)
        self.failed = draft

    def depend_on(self, draft: Draft) -> None:
        """Add the events of a failed draft to the innermost draft."""
        if (outer := self.innermost) is not None:
            for event in draft.events:
                outer.note(event)
            outer.spoiled = outer.spoiled or draft.spoiled

    @property
    def innermost(self) -> Draft | None:
        """The draft that events are noted in now."""
        return self._open[-1] if self._open and not self.suspended else None

    def note(self, event: Question | Unit) -> None:
        """Note an event in the innermost draft."""
        if (draft := self.innermost) is not None:
            draft.note(event)

    def note_call(self, dispatcher: Any) -> None:
        """Note that a call of a dispatcher's function is typed."""
        if self.innermost is None:
            return
        if (called := Called.of(dispatcher)) is None:
            self.spoil("how a function that it calls takes arguments cannot be told")
        else:
            self.note(called)

    def spoil(self, reason: str) -> None:
        """Keep the innermost draft from becoming a unit."""
        if (draft := self.innermost) is not None:
            draft.spoiled = draft.spoiled or reason

    def spoil_all(self, reason: str) -> None:
        """Keep all open drafts from becoming units."""
        for draft in self._drafts():
            draft.spoiled = draft.spoiled or reason

    def _drafts(self) -> Iterator[Draft]:
        return (draft for draft in self._open if draft is not None)

    def hear_read(self, fact: Fact) -> None:
        """Note that a field of the launch was read."""
        self.note(Launched(fact.field, fact.value, fact.place))

    def hear_effect(self, what: str) -> None:
        """Note an effect on the launch, other than reading it."""
        self.spoil(what)


class Takes(Protocol):
    """A recorder of the values that the front end takes: see Reads."""

    def take_function(self, function: FunctionType) -> None: ...
    def take_global(self, function: FunctionType, name: str, value: object) -> None: ...
    def take_free(self, function: FunctionType, name: str, cell: CellType, value: object) -> None: ...
    def take_attribute(self, owner: Any, name: str) -> Any: ...
    def take_content(self, array: Any, digest: str) -> None: ...


class NotedReads:
    """Records the values that the compiler takes in reads, and in the innermost draft."""

    def __init__(self, reads: Reads, drafts: Drafts) -> None:
        self._reads = reads
        self._drafts = drafts

    def take_function(self, function: FunctionType) -> None:
        self._reads.take_function(function)
        if (draft := self._drafts.innermost) is not None:
            draft.note(FunctionCode.of(function))
            if not draft.contains(function):
                self._drafts.spoil(f"{function.__qualname__} was compiled into it")

    def take_global(self, function: FunctionType, name: str, value: object) -> None:
        self._reads.take_global(function, name, value)
        if self._drafts.innermost is not None:
            mark = mark_of(value)
            self._note(name, None if mark is None else Global(function, name, value, mark))

    def take_free(self, function: FunctionType, name: str, cell: CellType, value: object) -> None:
        self._reads.take_free(function, name, cell, value)
        if self._drafts.innermost is not None:
            mark = mark_of(value)
            self._note(name, None if mark is None else Free(function, name, cell, value, mark))

    def take_attribute(self, owner: Any, name: str) -> Any:
        value = self._reads.take_attribute(owner, name)
        if self._drafts.innermost is not None:
            mark = mark_of(value) if is_plain_owner(owner, name) else None
            self._note(name, None if mark is None else ModuleAttribute(owner, name, value, mark))
        return value

    def take_content(self, array: Any, digest: str) -> None:
        self._reads.take_content(array, digest)
        self._drafts.note(Content(array, digest))

    def _note(self, name: str, question: Question | None) -> None:
        if question is None:
            self._drafts.spoil(f"what {name} is cannot be told")
        else:
            self._drafts.note(question)


def is_plain_owner(owner: Any, name: str) -> bool:
    """Return whether reading an attribute runs no code of a program's: its owner is a module, or a library's class."""
    if type(owner) is ModuleType:
        return name in vars(owner) or is_library_module(owner)
    return isinstance(owner, type) and is_library(owner.__module__)
