"""writing: a unit as data that means the same in another process; None for a unit without such data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from gridjit.compiler.frontend.kept.asked import (
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
from gridjit.compiler.frontend.kept.drafts import Unit
from gridjit.compiler.frontend.kept.places import InDispatcher, SharedPlace
from gridjit.compiler.frontend.kept.plain import is_numbas
from gridjit.compiler.frontend.kept.stored_code import described, printed
from gridjit.compiler.frontend.kept.stored_record import StoredEvent, StoredUnit
from gridjit.compiler.frontend.kept.told import dispatcher_of, tells_all, told, told_among, told_now
from gridjit.compiler.frontend.kept.type_rows import row_of, rows_of, value_row
from gridjit.compiler.source.libraries import is_library_module, name_of_module


class _Untold(Exception):
    """Something in a unit has no text that means the same in another process."""


def stored(unit: Unit, function: FunctionType) -> StoredUnit | None:
    """Return the stored form of a unit of function; None if it has none."""
    descriptor = described(unit.result)
    text = None if descriptor is None else printed(unit.result, descriptor)
    if descriptor is None or text is None:
        return None
    try:
        events = _events(unit, function)
    except (_Untold, TypeError, ValueError):
        return None
    return StoredUnit(descriptor=descriptor, events=events, text=text)


def called_row(called: Called) -> list[Any] | None:
    """Return the row of a call's question: dispatcher's class, options and parameters; None if a part has no text."""
    kind, can_compile, options, parameters = called.marks
    texts = [(name, str(way), _default_text(called, name, mark)) for name, way, mark in parameters]  # type: ignore[attr-defined]
    if any(text is None for _, _, text in texts) or " at 0x" in options:  # type: ignore[operator]
        return None
    return [f"{kind.__module__}.{kind.__qualname__}", can_compile, options, [list(text) for text in texts]]  # type: ignore[attr-defined]


def _default_text(called: Called, name: str, mark: Any) -> str | None:
    from gridjit.compiler.source.objects import defaults_of

    text = "" if mark == () else told(defaults_of(called.function).get(name), mark)
    return text if tells_all(text) else None


def _events(unit: Unit, function: FunctionType) -> tuple[StoredEvent, ...]:
    values: list[object] = []
    found = []
    for event in unit.events:
        row = _unit_row(event, values) if isinstance(event, Unit) else _question_row(event, function, values)
        if row is not None:
            found.append(tuple(row))
            # The place of a value is its event's.
            values += [value_taken(event)] * (len(found) - len(values))
    return tuple(found)


def _question_row(question: Question, function: FunctionType, values: Sequence[object]) -> list[Any] | None:
    """Return the row of a question; None for a question of numba's own code, which does not change."""
    match question:
        case FunctionCode() | Global() | Free() if is_numbas(question.function):
            return None
        case FunctionCode() | Global() | Free() if question.function is not function:
            raise _Untold
        case FunctionCode():
            return ["code"]
        case Global():
            return ["global", question.name, _text(question, values)]
        case Free():
            return ["free", question.name, _text(question, values)]
        case ModuleAttribute():
            return ["attribute", _owner(question.owner, values), question.name, _text(question, values)]
        case Called():
            return _called(question, values)
        case Content():
            return ["content", _place(values, lambda value: value is question.array), question.digest]
        case Launched():
            value = question.value
            if not isinstance(value, tuple | bool | int | str | None):
                raise _Untold
            return ["launched", question.field, list(value) if isinstance(value, tuple) else value, question.where]
        case Raised():
            return _raised(question)
    raise _Untold


def _text(question: Any, before: Sequence[object]) -> str:
    if (text := told_among(question.value, question.mark, before)) is None:
        raise _Untold
    return text


def _owner(owner: Any, values: Sequence[object]) -> int | str:
    """Return the place of the value that an attribute is of, or the name of a library's module."""
    is_new = not any(value is owner for value in values)
    if is_new and type(owner) is ModuleType and is_library_module(owner) and told_now(owner) is not None:
        return name_of_module(owner)
    return _place(values, lambda value: value is owner)


def _place(values: Sequence[object], is_it: Callable[[Any], bool]) -> int:
    """Return the place of the first value for which is_it holds; raises _Untold if there is none."""
    for place, value in enumerate(values):
        if is_it(value):
            return place
    raise _Untold


def _called(called: Called, values: Sequence[object]) -> list[Any] | None:
    if is_numbas(called.function):
        return None
    if (row := called_row(called)) is None:
        raise _Untold
    return ["called", _dispatcher_place(called.dispatcher, values), *row]


def _dispatcher_place(dispatcher: Any, values: Sequence[object]) -> int:
    return _place(values, lambda value: value is not None and dispatcher_of(value) is dispatcher)


def _raised(raised: Raised) -> list[Any]:
    kind, arguments = raised.exception, raised.arguments
    if told_now(kind) is None or not issubclass(kind, BaseException):
        raise _Untold
    given = None if arguments is None else [value_row(one) for one in arguments]
    return ["raised", kind.__module__, kind.__qualname__, given, raised.place_text]


def _unit_row(unit: Unit, values: Sequence[object]) -> list[Any]:
    """Return the row of a use of another unit: of numba's own by its key, of another by its function and types."""
    result, place = unit.result, unit.place
    symbol, returns = result.fndesc.mangled_name, row_of(result.signature.return_type)
    # numba-cuda makes callers of a cooperative function cooperative, too.
    cooperative = bool(result.library.use_cooperative)
    if isinstance(place, SharedPlace):
        return ["numbas", place.told, place.key, returns, symbol, cooperative]
    if not isinstance(place, InDispatcher) or is_numbas((dispatcher := place.dispatcher).py_func):
        raise _Untold
    arguments = rows_of(place.arguments)
    if arguments is None or returns is None:
        raise _Untold
    return ["calls", _dispatcher_place(dispatcher, values), arguments, returns, symbol, cooperative]
