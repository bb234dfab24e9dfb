"""reviving: a stored unit as a unit of this process, if every question that it asked has the same answer here.

Questions are asked in the order of the compile that they stand for, and each answer counts at once: a compile of today
would ask the same questions until one has another answer. A function that the unit calls is compiled, or revived, where
that compile would have done so. Its return type counts and whether it is cooperative, not its code: a callee may have
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from gridjit.base import reading
from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.kept.asked import (
    Asking,
    Called,
    Content,
    Free,
    FunctionCode,
    Global,
    Launched,
    ModuleAttribute,
    Question,
    Raised,
    value_taken,
)
from gridjit.compiler.frontend.kept.drafts import Unit, is_plain_owner
from gridjit.compiler.frontend.kept.places import SharedPlace
from gridjit.compiler.frontend.kept.plain import mark_of
from gridjit.compiler.frontend.kept.stored_code import revived as result_of
from gridjit.compiler.frontend.kept.stored_record import StoredEvent, StoredUnit
from gridjit.compiler.frontend.kept.told import dispatcher_of, told_among
from gridjit.compiler.frontend.kept.type_rows import row_of, type_of, value_of
from gridjit.compiler.frontend.kept.writing import called_row
from gridjit.compiler.recorded.value_path import follow, global_of
from gridjit.compiler.source.code_place import CodePlace
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.source.objects import MISSING, cell_value
from gridjit.compiler.values.footprint import Fact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demands:
    """How a stored unit gets the units that it uses, in the compile that asks.

    callee: the unit of a dispatcher for argument types. numbas: the unit of numba-cuda's own function with a place.
    Both return None where there is none.
    """

    callee: Callable[[Any, tuple[Any, ...]], Unit | None]
    numbas: Callable[[SharedPlace], Unit | None]


class _Other(Exception):
    """An answer has changed."""


@dataclass(slots=True, eq=False)
class _Asked:
    """The questions of one stored unit, asked one after the other."""

    function: FunctionType | None
    asking: Asking
    demands: Demands
    events: list[Question | Unit] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    symbols: dict[str, str] = field(default_factory=dict)


def revived(
    unit: StoredUnit, function: FunctionType | None, asking: Asking, demands: Demands
) -> tuple[Any, tuple[Question | Unit, ...]] | None:
    """Return numba's result and the events of a stored unit of function; None if a compile today would differ.

    function: None for one of numba-cuda's own, whose code is the same.
    """
    asked = _Asked(function, asking, demands)
    try:
        for event in unit.events:
            _ask(asked, event)
        libraries = [event.result.library for event in asked.events if isinstance(event, Unit)]
        return result_of(unit.descriptor, unit.text, asked.symbols, libraries), tuple(asked.events)
    except Exception as error:  # a value's class may run the program's code, and a stored unit may hold anything
        let_through(error)
        return None


def _ask(asked: _Asked, event: StoredEvent) -> None:
    kind, *given = event
    found = _QUESTIONS[kind](asked, *given)
    if not isinstance(found, Unit):
        found.record(asked.asking)
    asked.events.append(found)
    asked.values.append(value_taken(found))


def _code(asked: _Asked) -> Question:
    return FunctionCode.of(_function(asked))


def _global(asked: _Asked, name: str, text: str) -> Question:
    value = global_of(_function(asked), reading.text(name))
    return Global(_function(asked), name, value, _same(asked, value, text))


def _free(asked: _Asked, name: str, text: str) -> Question:
    function = _function(asked)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    value = cell_value(cells[name])
    return Free(function, name, cells[name], value, _same(asked, value, text))


def _attribute(asked: _Asked, owner: Any, name: str, text: str) -> Question:
    of = _library(owner) if isinstance(owner, str) else _value(asked, owner)
    value = asked.asking.reads.attribute_now(of, reading.text(name))
    if value is MISSING or not is_plain_owner(of, name):
        raise _Other
    return ModuleAttribute(of, name, value, _same(asked, value, text))


def _library(name: str) -> Any:
    if not is_library(name):
        raise reading.Unreadable("a library's module is expected")
    return follow((f"module {name}",), None)


def _called(asked: _Asked, place: Any, *row: Any) -> Question:
    called = Called.of(_dispatcher(asked, place))
    if called is None or called_row(called) != list(row):
        raise _Other
    return called


def _content(asked: _Asked, place: Any, digest: str) -> Question:
    return _todays(Content(_value(asked, place), reading.text(digest)), asked.asking)


def _launched(asked: _Asked, name: str, value: Any, where: str) -> Question:
    fact = Fact.read(name, value, where)
    return _todays(Launched(fact.field, fact.value, fact.place), asked.asking)


def _raised(_: _Asked, module: str, name: str, given: Any, place: Any) -> Question:
    kind: Any = follow((f"module {module}", *(f"attribute {part}" for part in name.split("."))), None)
    if not is_library(module) or not issubclass(kind, BaseException):
        raise reading.Unreadable("a library's exception is expected")
    arguments = None if given is None else reading.items(given, value_of)
    return Raised(kind, arguments, CodePlace.read(reading.text(place)))


def _calls(asked: _Asked, place: Any, arguments: Any, *seen: Any) -> Unit:
    types = reading.items(arguments, type_of)
    return _used(asked, asked.demands.callee(_dispatcher(asked, place), types), *seen)


def _numbas(asked: _Asked, told: str, key: str, *seen: Any) -> Unit:
    return _used(asked, asked.demands.numbas(SharedPlace(reading.text(told), reading.text(key))), *seen)


def _used(asked: _Asked, unit: Unit | None, returns: Any, symbol: str, cooperative: Any) -> Unit:
    """Return a unit if callers see the same of it: its return type, and whether it is cooperative; raises _Other."""
    if unit is None or row_of(unit.result.signature.return_type) != returns:
        raise _Other
    if bool(unit.result.library.use_cooperative) is not reading.flag(cooperative):
        raise _Other
    asked.symbols[reading.text(symbol)] = unit.result.fndesc.mangled_name
    return unit


def _function(asked: _Asked) -> FunctionType:
    """Return the user's function; raises Unreadable for numba-cuda's own, of which nothing is asked."""
    if asked.function is None:
        raise reading.Unreadable("nothing of a function is expected")
    return asked.function


def _dispatcher(asked: _Asked, place: Any) -> Any:
    if (dispatcher := dispatcher_of(_value(asked, place))) is None:
        raise _Other
    return dispatcher


def _value(asked: _Asked, place: Any) -> Any:
    return asked.values[reading.whole(place, most=len(asked.values) - 1)]


def _same(asked: _Asked, value: object, text: str) -> Any:
    """Return the mark of a value that has not changed; raises _Other for any other."""
    mark = mark_of(value)
    if mark is None or told_among(value, mark, asked.values) != text:
        raise _Other
    return mark


def _todays(question: Content | Launched, asking: Asking) -> Question:
    if (answer := question.today(asking)) is None:
        raise _Other
    return answer


_QUESTIONS: dict[str, Callable[..., Question | Unit]] = {
    "code": _code,
    "global": _global,
    "free": _free,
    "attribute": _attribute,
    "called": _called,
    "content": _content,
    "launched": _launched,
    "raised": _raised,
    "calls": _calls,
    "numbas": _numbas,
}
