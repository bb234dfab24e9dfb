"""Programs' changes of numba's modules and classes, as labelled key fields: any of them may change kernels.

A change is a function or a class in place of numba's own, also one of numba's in another's place, other code or
defaults in one of numba's functions, or another function in its closure. A process that has not imported numba has
no changes. Later looks inspect only changed owners, functions and cells.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeAlias

from gridjit.base.forking import section
from gridjit.compiler.key.extensions import numbered
from gridjit.compiler.key.fingerprint import fingerprint_values
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.numba_state.own import (
    counts,
    is_numbas_own,
    is_own_function,
    is_put,
    is_python_code,
    not_as_written,
    parts_of,
    sorted_out,
    with_other_code,
)
from gridjit.compiler.numba_state.survey import Survey, begin_anew, surveying, the_survey
from gridjit.compiler.process.collecting import collecting_rarely
from gridjit.compiler.process.refusing import refuses
from gridjit.compiler.source.code import plan_of
from gridjit.compiler.source.libraries import home_of, is_numbas
from gridjit.compiler.source.objects import MISSING, closure_of, of_kind
from gridjit.compiler.source.scalars import scalar_text

Fields: TypeAlias = "tuple[tuple[str, str], ...]"
_Parts: TypeAlias = "tuple[Any, Any, Any]"


def changes() -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of changes of numba, and why artifacts made with them may not be stored."""
    with section(), surveying:
        try:
            survey = the_survey()
            numba = survey.notes.setdefault(_Numba, _Numba(survey))
            collecting_rarely(numba.look)  # it makes ten thousand objects, none of which is garbage
            found: tuple[Fields, tuple[str, ...]] = numba.told()
        except BaseException:
            begin_anew()  # the look was interrupted
            raise
    return found


class _Numba:
    """Everything in numba's modules that is not numba's own.

    A name is compared with its value when its owner was first looked at, a function with its first code and defaults.
    """

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        # How much of the survey was looked at: owners, and changes of owners, functions and cells.
        self._seen, self._changes, self._function_changes, self._cell_changes = 0, 0, 0, 0
        # The values of each owner's names at the last look.
        self._last: list[dict[str, object]] = []
        # A program's values by name, by the index of a module or a class.
        self._put: dict[int, dict[str, object]] = {}
        # Functions with other code or defaults than numba's when they were first looked at, and changed ones.
        self._foreign: dict[FunctionType, None] = {}
        self._changed: dict[FunctionType, None] = {}
        # Cells of closures that no longer hold numba's function, each with the function that the closure is of.
        self._cells: dict[int, FunctionType] = {}
        # The functions that were looked at.
        self._met: set[FunctionType] = set()

    def look(self) -> None:
        """Bring the changes up to date."""
        survey = self.survey
        survey.look()
        if self._seen < len(survey.owners):
            new = range(self._seen, len(survey.owners))
            self._seen = len(survey.owners)
            self._last += survey.first_names[new.start :]
            fresh, survey.fresh = survey.fresh, []
            values, kinds, classes = ([*chain.from_iterable(those)] for those in zip(*fresh, strict=True))
            if foreign := self._watched(values, kinds, classes):
                self._find(foreign, new)
        changed = dict.fromkeys(survey.changed_owners[self._changes :])
        self._changes = len(survey.changed_owners)
        for index in changed:
            self._look_again(index)
        self._look_at_functions()
        self._look_at_cells()

    def told(self) -> tuple[Fields, tuple[str, ...]]:
        """Return the fields of all this, and why artifacts made with it may not be stored."""
        fields: list[tuple[str, str]] = []
        private: list[str] = []
        for label, (text, hidden) in self._texts():
            fields.append((label, text))
            private += hidden
        return numbered(sorted(fields)), tuple(dict.fromkeys(private))

    def _texts(self) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
        for index, put in self._put.items():
            for name, value in put.items():
                label = f"put in numba: {self.survey.path(index)}.{name}"
                yield label, put_text(label, value, self._called(value))
        for function in {**self._foreign, **self._changed, **dict.fromkeys(self._cells.values())}:
            label = f"code of {function.__module__}.{function.__qualname__}"
            yield label, function_text(label, function)

    def _called(self, value: object) -> tuple[str, ...]:
        """Return the names that numba has for something of its own; one is enough to tell it."""
        found = (
            f"{self.survey.path(index)}.{name}"
            for index, names in enumerate(self.survey.first_names)
            for name, one in names.items()
            if one is value and is_numbas(self.survey.homes[index])
        )
        return tuple(sorted(found)[:1]) if _is_own(value, value) else ()

    def _find(self, foreign: Mapping[int, Any], new: range) -> None:
        """Find the names with a program's values in new modules and classes of numba's."""
        for index, names in enumerate(self.survey.first_names[new.start :], new.start):
            if foreign.keys().isdisjoint(map(id, names.values())) or not is_numbas(self.survey.homes[index]):
                continue
            found = {name: one for name, one in names.items() if id(one) in foreign}
            put = {name: one for name, one in found.items() if _is_a_programs(one, self._module(index))}
            if put:
                self._put[index] = put

    def _look_again(self, index: int) -> None:
        """Look at the names of a module or a class whose values changed."""
        before, now = self._last[index], self.survey.names[index]
        self._last[index] = now
        if not is_numbas(self.survey.homes[index]):
            return
        put = self._put.pop(index, {})
        for name in [name for name in {**before, **now} if before.get(name, MISSING) is not now.get(name, MISSING)]:
            value, first = now.get(name, MISSING), self.survey.first_names[index].get(name, MISSING)
            was_put = put.pop(name, MISSING)
            if self._is_put(value, self._module(index)):
                put[name] = value
            elif was_put is not MISSING and was_put is first:
                # It was there at the first look already, and the value that it replaced is unknown.
                self.survey.first_names[index] = {**self.survey.first_names[index], name: value}
            elif value is not first and _is_own(value, first) and self._matters(index, name, first):
                put[name] = value
        if put:
            self._put[index] = put

    def _matters(self, index: int, name: str, first: object) -> bool:
        """Return whether a name had a value in its owner, or may hide a builtin or a base class's attribute."""
        return first is not MISSING or of_kind(self.survey.owners[index], type) or hasattr(builtins, name)

    def _module(self, index: int) -> ModuleType:
        """Return the module that an owner is, or is of."""
        return self.survey.modules[self.survey.homes[index]]

    def _is_put(self, value: object, module: ModuleType) -> bool:
        """Return whether a name's value is a program's."""
        if not counts(type(value)):
            return False
        functions = [part for part in parts_of(value) if type(part) is FunctionType]
        if any(map(is_own_function, functions)):
            self._watched(functions, [FunctionType] * len(functions), ())
        return _is_a_programs(value, module)

    def _watched(self, values: Sequence[Any], kinds: Sequence[type], classes: Iterable[type]) -> Mapping[int, Any]:
        """Watch numba's functions among values; return the values that are not a library's, by their identity."""
        functions, odd, foreign = sorted_out(values, kinds, classes)
        self.survey.watch(functions)
        if self._met:
            functions, odd = ([one for one in those if one not in self._met] for those in (functions, odd))
        self._met.update(functions)
        self._foreign.update(dict.fromkeys((*with_other_code(odd), *not_as_written(functions))))
        return foreign

    def _look_at_functions(self) -> None:
        """Look at functions that have other code or defaults than before."""
        survey, start = self.survey, self._function_changes
        self._function_changes = len(survey.changed_functions)
        for index in dict.fromkeys(survey.changed_functions[start:]):
            function = survey.functions[index]
            if function in self._foreign:
                # Its first code was a program's, and the code that it replaced is unknown.
                self._foreign.pop(function)
                self._foreign.update(dict.fromkeys((*with_other_code([function]), *not_as_written([function]))))
                survey.first_parts[index] = survey.parts[index]
                continue
            self._changed.pop(function, None)
            if not (_are_equal(survey.first_parts[index], survey.parts[index]) or refuses(function)):
                self._changed[function] = None

    def _look_at_cells(self) -> None:
        """Look at the cells of closures whose contents changed."""
        survey, start = self.survey, self._cell_changes
        self._cell_changes = len(survey.changed_cells)
        for index in dict.fromkeys(survey.changed_cells[start:]):
            self._cells.pop(index, None)
            first = survey.first_contents[index]
            now = survey.contents[index]
            if now is not first and _is_numbas(first) and not _is_gridjits(type(now)):
                self._cells[index] = survey.of_cells[index]


def _is_a_programs(value: object, module: ModuleType) -> bool:
    return any(is_put(part, module) for part in parts_of(value))


def _is_own(value: object, first: object) -> bool:
    """Return whether another of numba's functions or classes, or C code, replaced one of numba's."""
    is_code = _is_numbas(value) or type(value) is BuiltinFunctionType
    return is_code and _is_numbas(first) and not _is_gridjits(value)


def _is_numbas(value: object) -> bool:
    return value is MISSING or (counts(type(value)) and all(map(is_numbas_own, parts_of(value))))


def _is_gridjits(value: object) -> bool:
    """Return whether a class is gridjit's, put in place of numba's under its name; its functions tell."""
    held = [part for one in vars(value).values() for part in parts_of(one)] if of_kind(value, type) else ()
    return any(type(part) is FunctionType and home_of(part).startswith("gridjit.") for part in held)


def _are_equal(first: _Parts, now: _Parts) -> bool:
    """Return whether code is the same, and defaults are the same objects or equal numbers and texts."""
    code, defaults, keywords = first
    return (
        bool(code == now[0])
        and _have_equal(defaults or (), now[1] or ())
        and _same_keywords(keywords or {}, now[2] or {})
    )


def _have_equal(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(one is other or _equal(one, other) for one, other in pairs)


def _same_keywords(some: dict[str, Any], others: dict[str, Any]) -> bool:
    return some.keys() == others.keys() and _have_equal((*some.values(),), tuple(others[name] for name in some))


def _equal(one: object, other: object) -> bool:
    text = scalar_text(one)
    return text is not None and type(one) is type(other) and text == scalar_text(other)


Told = tuple[str, tuple[str, ...]]


def put_text(label: str, value: object, called: tuple[str, ...]) -> Told:
    """Return the text of a name's value. called: numba's own names for the value; none if it is not numba's."""
    if value is MISSING:
        return "deleted", ()
    if called:
        return f"numba's own {', '.join(called)}", ()
    if isinstance(value, FunctionType) and is_own_function(value):
        return function_text(label, value)
    if isinstance(value, (FunctionType, type)) and (owner := owner_of(value)) is not None:
        late = f"{owner.name} was modified after this process began, so what is loaded may be older"
        return f"{owner.identity} {home_of(value)}.{value.__qualname__}", (late,) if owner.overtaken else ()
    if (parts := parts_of(value)) != (value,) and not any(map(is_python_code, parts)):
        return _holder_text(label, value, parts)
    found = fingerprint_values([(label, value)], running=True)
    return found.digest, found.opaque


def function_text(label: str, function: FunctionType) -> Told:
    """Return the text of one of numba's functions with other code or defaults than numba's."""
    given = {"defaults": function.__defaults__, "by keyword": function.__kwdefaults__, **closure_of(function)}
    held = fingerprint_values([(f"{label}, {name}", value) for name, value in given.items()], running=True)
    return f"{plan_of(function.__code__).digest} {held.digest}", held.opaque


def _holder_text(label: str, holder: object, parts: tuple[object, ...]) -> Told:
    """Return the text of a property, a partial or the like that holds libraries' functions."""
    texts: list[str] = [type(holder).__qualname__]
    hidden: list[str] = []
    for part in parts:
        text, why = function_text(label, part) if of_kind(part, FunctionType) else (str(part), ())
        texts.append(text)
        hidden += why
    given = [getattr(holder, name, None) for name in ("args", "keywords")]
    found = fingerprint_values([(f"{label}, given", given)], running=True)
    return " ".join((*texts, found.digest)), (*hidden, *found.opaque)
