"""Within: the contents of numba's values, where a program can change numba without setting one of its names.

A function has its code, its defaults and its closure, which the survey watches; dictionaries, lists and sets have
items.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress
from types import FunctionType
from typing import Any

from gridjit.compiler.numba_state.first_modules import FRONT_END
from gridjit.compiler.numba_state.own import HELD
from gridjit.compiler.numba_state.stamps import of_dictionaries
from gridjit.compiler.numba_state.survey import Survey
from gridjit.compiler.numba_state.watched import Watched, copies, same_items
from gridjit.compiler.process.refusing import refuses
from gridjit.compiler.source.objects import cell_values


class Within:
    """The contents of values, all the way down, and their state then.

    met: the classes of all of these values, in that order. kinds: the values by their classes.
    """

    def __init__(self, survey: Survey) -> None:
        self.met: list[type] = []
        self.kinds: dict[type, list[Any]] = {}
        self._survey = survey
        self._changes = _changes_of(survey)
        self._tables: Watched[dict[Any, Any]] = Watched(copies, same_items, of_dictionaries)
        self._sets: Watched[set[Any]] = Watched(_frozen, operator.eq)
        self._lists: list[list[Any]] = []
        self._lengths: list[int] = []
        self._items: list[Any] = []
        self._functions: set[FunctionType] = set()
        self._seen: dict[int, object] = {}  # kept alive: by their identity

    def add(self, values: Iterable[Any]) -> None:
        """Look into values, and watch their contents from now on."""
        found: dict[type, list[Any]] = {kind: [] for kind in (FunctionType, dict, list, set)}
        self._walk([*values], found)
        self._survey.watch(found[FunctionType])
        self._tables.add(found[dict])
        self._sets.add(found[set])
        self._lists += found[list]
        self._lengths += map(len, found[list])
        self._items += chain.from_iterable(found[list])

    def hold(self) -> bool:
        """Return whether all of it is unchanged."""
        return self._functions_hold() and self._tables.hold() and self._sets.hold() and self._lists_hold()

    def _functions_hold(self) -> bool:
        """Return whether no look of the survey since then found a function with other code, defaults or closure.

        Functions that were made to refuse calls by plain Python do not count.
        """
        survey = self._survey
        functions, cells = survey.changed_functions[self._changes[0] :], survey.changed_cells[self._changes[1] :]
        self._changes = _changes_of(survey)
        changed = [one for one in map(survey.functions.__getitem__, functions) if one in self._functions]
        return all(map(refuses, changed)) and not any(id(survey.cells[index]) in self._seen for index in cells)

    def _lists_hold(self) -> bool:
        # All at once: there are hundreds of lists, most of few items.
        return [*map(len, self._lists)] == self._lengths and all(
            map(operator.is_, chain.from_iterable(self._lists), self._items)
        )

    def _walk(self, values: list[Any], found: dict[type, list[Any]]) -> None:
        # There are tens of thousands of values, so they are told apart all at once.
        while values:
            met = [*map(type, values)]
            self.met += met
            kinds = _by_kind(values, met)
            for kind, those in kinds.items():
                self.kinds.setdefault(kind, []).extend(those)
            functions = self._new_functions(kinds.pop(FunctionType, []))
            found[FunctionType] += functions
            values = self._in_functions([*compress(functions, map(_NOTHING.__ne__, map(_HOLDS, functions)))])
            for kind, those in kinds.items():
                if (as_what := _kind_within(kind)) is not None:
                    new = self._new(those)
                    if as_what in found:
                        found[as_what] += new
                    values += _parts(as_what, new)

    def _in_functions(self, functions: list[FunctionType]) -> list[Any]:
        """Return the values that the front end's functions among these hold: first defaults, then closures' contents.

        A function keeps what it made before in a mutable default.
        """
        ours = [one for one in functions if _is_front_ends(_home_of(one)) or _is_front_ends(one.__module__)]
        keywords = [*filter(None, map(_keywords_of, ours))]
        cells = self._new(chain.from_iterable(filter(None, map(_closure_of, ours))))
        defaults = chain(*filter(None, map(_defaults_of, ours)), *map(dict.values, keywords))
        return [*(one for one in defaults if not isinstance(one, _CONTAINERS)), *cell_values(cells)]

    # Each once: a function may have several names.
    def _new_functions(self, met: Iterable[FunctionType]) -> list[FunctionType]:
        seen = self._functions
        new = [function for function in dict.fromkeys(met) if function not in seen]
        seen.update(new)
        return new

    def _new(self, met: Iterable[Any]) -> list[Any]:
        new = {id(value): value for value in met if id(value) not in self._seen}
        self._seen.update(new)
        return [*new.values()]


def _changes_of(survey: Survey) -> tuple[int, int]:
    return len(survey.changed_functions), len(survey.changed_cells)


def _by_kind(values: Iterable[Any], kinds: Iterable[type]) -> dict[type, list[Any]]:
    """Return values by their classes, which are kinds, each in their order."""
    found: defaultdict[type, list[Any]] = defaultdict(list)
    for kind, value in zip(kinds, values, strict=True):
        found[kind].append(value)
    return found


# Attributes of a function that may hold something, and their values if they hold nothing.
_HOLDS = operator.attrgetter("__defaults__", "__kwdefaults__", "__closure__")
_NOTHING = (None, None, None)
_defaults_of, _keywords_of, _closure_of = map(operator.attrgetter, ("__defaults__", "__kwdefaults__", "__closure__"))


def _home_of(function: FunctionType) -> Any:
    return function.__globals__.get("__name__")


def _is_front_ends(module: Any) -> bool:
    """Return whether a function of that module is numba's or llvmlite's, or made of one by a foreign decorator."""
    return isinstance(module, str) and _is_of_front_end(module)


# Of each module once: there are thousands of functions.
_is_of_front_end: Callable[[str], bool] = functools.cache(lambda module: module.startswith(FRONT_END))


def _in_order(items: set[Any]) -> list[Any]:
    """Return a set's items in an order that is the same in another process."""
    return [*items] if len(items) < 2 else sorted(items, key=lambda one: str(getattr(one, "__qualname__", None) or one))


def _frozen(sets: Sequence[set[Any]]) -> list[frozenset[Any]]:
    return [*map(frozenset, sets)]


_CONTAINERS = (dict, list, set)
# The items of containers.
_ITEMS: dict[Any, Callable[[Any], Iterable[Any]]] = {
    tuple: iter,
    list: iter,
    set: _in_order,
    frozenset: _in_order,
    dict: lambda value: (*value, *value.values()),
}


def _parts(kind: type, values: list[Any]) -> Iterable[Any]:
    """Return the parts of values of a kind."""
    if (names := HELD.get(kind)) is None:
        return chain.from_iterable(map(_ITEMS[kind], values))
    given = (part for one in values for part in (*one.args, one.keywords)) if kind is functools.partial else ()
    return chain(*(map(operator.attrgetter(name), values) for name in names), given)


# Of each class once: there are thousands of values.
@functools.cache
def _kind_within(kind: Any) -> Any:
    """Return the kind that objects of a class are looked into as; None if they are not."""
    if kind in HELD or kind in _ITEMS or kind is FunctionType:
        return kind
    return next((one for one in (*_CONTAINERS, staticmethod, classmethod) if issubclass(kind, one)), None)
