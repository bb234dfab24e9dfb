"""survey: numba's and llvmlite's modules, classes and functions as they stand, looked at once for all who ask.

There are thousands, so a process goes through them once. A later look compares only objects that may have changed since
then, and tells the survey's followers of changes only.
"""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress, count
from types import CellType, FunctionType, ModuleType
from typing import Any, TypeAlias

from gridjit.base.forking import lock
from gridjit.compiler.numba_state.first_modules import FRONT_END
from gridjit.compiler.numba_state.stamps import Stamps, of_attributes, of_cells, of_dictionaries
from gridjit.compiler.numba_state.watched import Watched, copies, same_items
from gridjit.compiler.process.collecting import collecting_rarely, making_what_stays
from gridjit.compiler.source.objects import cell_value, cell_values

# A function's attributes that can be set, besides the contents of its closure's cells.
CHANGEABLE = ("__code__", "__defaults__", "__kwdefaults__")
Parts: TypeAlias = "tuple[Any, Any, Any]"
changeable: Callable[[FunctionType], Parts] = operator.attrgetter(*CHANGEABLE)


class Survey:
    """All modules, classes, functions and cells in the order of their finding, with their state at the last look.

    owners: the modules and classes; more come at the end. homes: for each of them, the name of its module. modules: all
    whose names are the front end's. fresh: values of new owners' names, their classes, and the values that are classes
    of other modules; a follower takes them away.
    changed_owners, changed_functions, changed_cells: the indices of changed objects, in the order of the looks.
    first_names, first_parts, first_contents: the state of each owner, function and cell of a closure when it was first
    looked at, perhaps by an interrupted survey that this one replaces.
    moved: how often another module was found under the name of a known one.
    notes: the followers' own notes on the survey, by class.
    """

    def __init__(self, older: Survey | None = None) -> None:
        self.changed_owners: list[int] = []
        self.changed_functions: list[int] = []
        self.changed_cells: list[int] = []
        self.first_names: list[dict[str, Any]] = []
        self.first_parts: list[Parts] = []
        self.first_contents: list[object] = []
        self.moved = 0
        self.notes: dict[type, Any] = {}
        self.owners: list[Any] = []
        self.homes: list[str] = []
        self.fresh: list[tuple[list[Any], list[type], list[type]]] = []
        self.modules: dict[str, ModuleType] = {}
        self._imports: Watched[dict[str, Any]] = Watched(_of_front_end, _same_modules, of_dictionaries)
        self._names: Watched[dict[str, Any]] = Watched(copies, same_items, of_dictionaries)
        self._classes: set[type] = set()
        self._functions: Watched[FunctionType] = Watched(_all_changeable, is_unchanged, _of_functions)
        self._known: dict[FunctionType, None] = {}
        # Defaults of keyword-only parameters: dictionaries that may change in place, each with its function's index.
        self._keywords: Watched[dict[str, Any]] = Watched(copies, same_items, of_dictionaries)
        self._of_keywords: list[int] = []
        # The cells of functions' closures, and each cell's function.
        self._cells: Watched[CellType] = Watched(cell_values, _same_content, of_cells)
        self.of_cells: list[FunctionType] = []
        # The interrupted survey's first state of owners, functions and cells, by identity; they are kept alive here.
        self._older: dict[int, tuple[object, Any]] = {} if older is None else {**older._older, **older._all_first()}

    @property
    def names(self) -> Sequence[dict[str, object]]:
        """The values of each owner's names at the last look."""
        return self._names.then

    @property
    def functions(self) -> Sequence[FunctionType]:
        """The functions that are watched because somebody asked for it."""
        return self._functions.objects

    @property
    def parts(self) -> Sequence[Parts]:
        """The code and the defaults that each function had at the last look."""
        return self._functions.then

    @property
    def cells(self) -> Sequence[CellType]:
        """The cells of these functions' closures."""
        return self._cells.objects

    @property
    def contents(self) -> Sequence[object]:
        """The contents of each cell at the last look; of_cells has the cells' functions."""
        return self._cells.then

    def look(self, replaced: Iterable[Mapping[str, Any]] = ()) -> None:
        """Bring all of it up to date. replaced: former values of names that a compile under way replaced."""
        for at, then in self._keywords.news():
            index = self._of_keywords[at]
            if self.first_parts[index][2] is self._keywords.objects[at]:
                self.first_parts[index] = (*self.first_parts[index][:2], then)
            self.changed_functions.append(index)
        self.changed_functions += [index for index, _ in self._functions.news()]
        self.changed_cells += [index for index, _ in self._cells.news()]
        changed = [index for index, _ in self._names.news()]
        self.changed_owners += changed
        if not self._imports.objects:
            collecting_rarely(lambda: making_what_stays(lambda: self._look_at_all(replaced)))
            return
        self._add(*self._new_classes([self.names[index] for index in changed]))
        if self._imports.news():
            self._look_for_modules()
            self._add(*self._new_classes(map(dict, replaced)))

    def path(self, index: int) -> str:
        """Return the name of an owner."""
        itself = self.owners[index]
        return self.homes[index] if type(itself) is ModuleType else f"{self.homes[index]}.{itself.__qualname__}"

    def watch(self, functions: Iterable[FunctionType]) -> list[FunctionType]:
        """Watch functions, each of which is given once, from now on; return the new ones."""
        known = self._known
        new = [one for one in functions if one not in known] if known else [*functions]
        if new:
            start = len(known)
            known.update(dict.fromkeys(new))
            self._functions.add(new)
            self.first_parts += self._firsts(new, self.parts[start:], self.changed_functions, start, _same_parts)
            taken = [parts[2] for parts in self.parts[start:]]
            self._of_keywords += compress(count(start), taken)
            self._keywords.add(filter(None, taken))
            self._add_cells([one for one in new if one.__closure__])
        return new

    def _add_cells(self, functions: Iterable[FunctionType]) -> None:
        known, start = {*map(id, self.cells)}, len(self.cells)
        new = {id(cell): (cell, one) for one in functions for cell in one.__closure__ or () if id(cell) not in known}
        self.of_cells += [one for _, one in new.values()]
        self._cells.add([cell for cell, _ in new.values()])
        self.first_contents += self._firsts(
            self.cells[start:], self.contents[start:], self.changed_cells, start, operator.is_
        )

    def _all_first(self) -> dict[int, tuple[object, Any]]:
        known = (
            *zip(self._names.objects, self.first_names, strict=False),
            *zip(self.functions, self.first_parts, strict=False),
            *zip(self.cells, self.first_contents, strict=False),
        )
        return {id(one): (one, first) for one, first in known}

    def _firsts(
        self, new: Sequence[Any], now: Sequence[Any], changed: list[int], start: int, same: Callable[[Any, Any], bool]
    ) -> Sequence[Any]:
        """Return the first state of new objects; add the indices of objects with another state now to `changed`."""
        if not self._older:
            return now
        firsts = [self._older.get(id(one), (one, then))[1] for one, then in zip(new, now, strict=True)]
        changed += [index for index, pair in enumerate(zip(firsts, now, strict=True), start) if not same(*pair)]
        return firsts

    def _look_at_all(self, replaced: Iterable[Mapping[str, Any]]) -> None:
        self._imports.add([sys.modules])
        self._look_for_modules()
        self._add(*self._new_classes(map(dict, replaced)))

    def _look_for_modules(self) -> None:
        found, homes = [], []
        for name, module in self._imports.then[0].items():
            if (known := self.modules.get(name)) is not module:
                self.moved += known is not None
                self.modules[name] = module
                if type(module) is ModuleType and vars(module).get("__name__") == name:
                    found.append(module)
                    homes.append(name)
        self._add(found, homes)

    def _add(self, found: list[Any], homes: list[str]) -> None:
        while found:
            start = len(self.owners)
            self.owners += found
            self.homes += homes
            names: list[Any] = [*map(vars, found)]
            if type(names[0]) is not dict:  # classes show them through proxies, each of which refers to nothing else
                names = gc.get_referents(*names)
            self._names.add(names)
            self.first_names += self._firsts(names, self.names[start:], self.changed_owners, start, same_items)
            found, homes = self._new_classes(self.names[start:], are_new=True)

    def _new_classes(self, names: Iterable[dict[str, Any]], *, are_new: bool = False) -> tuple[list[Any], list[str]]:
        """Return the new classes of these modules among the values of names, each with its module.

        are_new: whether the names are of new owners, so that their values are fresh.
        """
        values = [*chain.from_iterable(map(dict.values, names))]
        kinds = [*map(type, values)]
        are_classes = map({kind for kind in {*kinds} if issubclass(kind, type)}.__contains__, kinds)
        met = dict.fromkeys(compress(values, are_classes))
        homes, modules, known = [*map(_module_of, met)], self.modules, self._classes
        found = {
            cls: home
            for cls, home in zip(met, homes, strict=True)
            if cls not in known and type(home) is str and home in modules
        }
        if are_new:
            self.fresh.append((values, kinds, [cls for cls in met if cls not in self._classes and cls not in found]))
        self._classes.update(found)
        return [*found], [*found.values()]


def is_unchanged(function: FunctionType, then: tuple[object, ...]) -> bool:
    """Return whether a function has the very code and defaults that it had."""
    return _same_parts(changeable(function), then)


def _same_parts(first: tuple[object, ...], then: tuple[object, ...]) -> bool:
    return all(map(operator.is_, first, then))


def _all_changeable(functions: Sequence[FunctionType]) -> list[Parts]:
    return [*map(changeable, functions)]


def _same_content(cell: CellType, then: object) -> bool:
    return cell_value(cell) is then


_module_of: Callable[[type], object] = operator.attrgetter("__module__")


def _of_front_end(tables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    # Programs put modules there under keys that are not texts.
    return [
        {name: one for name, one in [*modules.items()] if isinstance(name, str) and name.startswith(FRONT_END)}
        for modules in tables
    ]


def _same_modules(modules: Mapping[str, Any], then: dict[str, Any]) -> bool:
    return same_items(_of_front_end([modules])[0], then)


def _of_functions(functions: Sequence[FunctionType]) -> Stamps | None:
    return of_attributes(CHANGEABLE, functions)


def the_survey() -> Survey:
    """Return this process's survey as the last look left it; the caller holds `surveying`."""
    return _one[0]


def begin_anew() -> Survey:
    """Return a new survey in place of an interrupted one: it knows the first state of objects, and looks anew."""
    _one[0] = Survey(_one[0])
    return _one[0]


surveying = lock()
_one = [Survey()]
