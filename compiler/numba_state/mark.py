"""mark: a number that changes with each change of numba's code by a program; and a text of that code.

Compared are the values of its modules' and classes' names, the contents of these values, and which modules have
numba's names.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from itertools import chain, compress, repeat
from types import MappingProxyType, ModuleType
from typing import Any, TypeAlias

from gridjit.base.forking import section
from gridjit.compiler.numba_state.first_modules import is_first, note_first_modules
from gridjit.compiler.numba_state.survey import Survey, surveying, the_survey
from gridjit.compiler.numba_state.text import numbas_text
from gridjit.compiler.numba_state.watched import same_items
from gridjit.compiler.numba_state.within import Within
from gridjit.compiler.process.collecting import making_what_stays
from gridjit.compiler.source.objects import MISSING
from gridjit.compiler.source.scalars import scalar_text

# Python's notes on a copied class and on a module that warned, and the counters by which numba names shared arrays,
# variables and loops.
_MEMORIES = frozenset(
    ("__slotnames__", "__warningregistry__", "_unique_smem_id", "_unique_var_count", "aa_count", "id_counter")
)
# The caches of numba and llvmlite, their listeners, and this process's addresses of C functions.
_MEMOS = frozenset(
    ("_typecache", "_struct_proxy_cache", "_instance_cache", "loc_info", "disabled_types", "_registered", "c_helpers")
)
# The largest number of threads of numba's loops for processors, which is the machine's number, and its check.
_OF_PROCESSORS = frozenset({"NUM_THREADS", "snt_check"})
# The modules of numba's settings, which are compared one by one elsewhere.
SETTINGS = ("numba.core.config", "numba.cuda.core.config")
# Names that Python sets in a module when it loads it: places, which differ, and no code.
_OF_MODULES = frozenset(
    {"__file__", "__cached__", "__path__", "__doc__", "__builtins__", "__annotations__", "__spec__"}
)
_NOT_TOLD = _MEMORIES | _MEMOS | _OF_PROCESSORS
_NOT_TOLD_OF_MODULES = _NOT_TOLD | _OF_MODULES
# gridjit gives the driver's module a GPU that the host stands in for; it is not part of what compiles callees.
_DRIVER = "numba.cuda.cudadrv.driver"

# Former values of names that a compile replaced in numba's modules and classes, by identity and name.
Originals: TypeAlias = "Mapping[int, Mapping[str, Any]]"
NOTHING: Originals = MappingProxyType({})


class _Group:
    """Modules and classes that were found together, with the values that their names had."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        # The values of each owner's names, by its index in the survey.
        self.then: dict[int, dict[str, Any]] = {}
        # The names of owners in the text, all but settings, and how many names each has; and these names.
        self._told: list[tuple[str, int]] = []
        self._names: list[str] = []
        # The values of these names, all the way down.
        self._within = Within(survey)
        # The text of all this, once it has been asked for, by how many owners there were.
        self._text: dict[int, str | None] = {}

    def add(self, indices: Iterable[int], originals: Originals) -> None:
        """Watch these owners too."""
        survey = self._survey
        named = sorted((survey.path(index), index) for index in indices)
        added = [(index, self._original(index, originals)) for _, index in named]
        self.then.update(added)
        told = [
            (name, _counting(then)) for (name, _), (_, then) in zip(named, added, strict=True) if name not in SETTINGS
        ]
        values = [*chain.from_iterable(names.values() for _, names in told)]
        kinds = [*map(type, values)]
        self._within.add(values)
        # Which modules there are depends on imports, so that their names are left out.
        names = chain.from_iterable(map(operator.itemgetter(1), told))
        self._names += compress(names, map(operator.is_not, kinds, repeat(ModuleType)))
        end = 0
        for name, those in told:
            start, end = end, end + len(those)
            self._told.append((name, len(those) - kinds[start:end].count(ModuleType)))

    def _original(self, index: int, originals: Originals) -> dict[str, Any]:
        """Return the values of an owner's names, with the former value of each name that a compile replaced."""
        names = self._survey.names[index]
        replaced = originals.get(id(self._survey.owners[index])) if originals else None
        if not replaced:
            return names
        found = {**names, **replaced}
        return {name: value for name, value in found.items() if value is not MISSING}

    def same(self, index: int) -> bool:
        """Return whether an owner's names have the same values; changes that do not matter are noted."""
        if index not in self.then:
            return True
        names = self._survey.names[index]
        if not _same(self._survey.owners[index], names, self.then[index]):
            return False
        self.then[index] = names
        return True

    def hold(self, changed: Iterable[int]) -> bool:
        """Return whether the changed owners' names, and the insides of all values, are as they were."""
        return all(map(self.same, changed)) and self._within.hold()

    def text(self) -> str | None:
        """Return a text of all this that holds in any process; None if it contains a program's code."""
        if (count := len(self.then)) not in self._text:
            told = (f"{name} {many}" for name, many in self._told)
            self._text[count] = numbas_text(chain(told, self._names), self._within)
        return self._text[count]


class _Watch:
    """All watched owners. first: the owners at the first look. later: owners imported since, as by compiles."""

    def __init__(self) -> None:
        with section(), surveying:
            self.survey = the_survey()
        self.first, self.later = _Group(self.survey), _Group(self.survey)
        self._seen = 0
        self._changes, self._moved = len(self.survey.changed_owners), self.survey.moved

    def hold(self, originals: Originals = NOTHING) -> bool:
        """Look at owners imported since the last call, and return whether all owners are unchanged."""
        with section(), surveying:
            survey = the_survey()
            survey.look(originals.values())
            return survey is self.survey and survey.moved == self._moved and self._followed(originals)

    def _followed(self, originals: Originals) -> bool:
        survey, changes = self.survey, self._changes
        self._changes = len(survey.changed_owners)
        changed = [*dict.fromkeys(index for index in survey.changed_owners[changes:] if index < self._seen)]
        if not self.later.hold(changed):
            _later_was_changed[:] = [True]
            return False
        if not self.first.hold(changed):
            return False
        if self._seen < len(survey.owners):
            new, self._seen = range(self._seen, len(survey.owners)), len(survey.owners)
            making_what_stays(lambda: self._add(new, originals)) if not new.start else self._add(new, originals)
        return True

    def _add(self, new: Iterable[int], originals: Originals) -> None:
        note_first_modules()
        homes = self.survey.homes
        found = [index for index in new if homes[index] != _DRIVER]
        first = [is_first(homes[index]) for index in found]
        self.first.add(compress(found, first), originals)
        self.later.add(compress(found, map(operator.not_, first)), originals)


def numbas_mark(originals: Originals) -> int:
    """Return a number that changes when numba's code changes.

    originals: values that gridjit's own compile, now under way, replaced in numba; these count as unchanged.
    """
    global _patched, _watch
    if not _watch.hold(originals):
        _patched += 1
        _watch = _Watch()
        _watch.hold(originals)
    return _patched


def numbas_own_text() -> str | None:
    """Return a text of numba's code that holds in any process; None if a program's code stands in its place.

    Modules that compiles imported are compared too, but are not part of the text, since each compile imports others.
    So there is no text once a program changed any of them.
    """
    later = _watch.later.text()
    return None if later is None or _later_was_changed else _watch.first.text()


def _counting(names: dict[str, Any]) -> dict[str, Any]:
    """Return the names that count, with their values: all but names that Python and numba change themselves."""
    skipped = _NOT_TOLD_OF_MODULES if "__spec__" in names else _NOT_TOLD
    if names.keys().isdisjoint(skipped):
        return names
    found = names.copy()
    for name in names.keys() & skipped:
        if not _is_llvmlites(name, names[name]):
            del found[name]
    return found


def _is_llvmlites(name: str, value: object) -> bool:
    """Return whether a name is a memo's, but its value is the only object of one of llvmlite's classes."""
    return name == "_instance_cache" and type(value) is not dict


def _same(itself: Any, names: dict[str, Any], then: dict[str, Any]) -> bool:
    """Return whether names have their values of then, apart from additions and changes that do not matter."""
    if same_items(names, then):
        return True
    is_settings = type(itself) is ModuleType and itself.__name__ in SETTINGS
    changed = {name for name in {*names, *then} if names.get(name, MISSING) is not then.get(name, MISSING)} - _MEMORIES
    return all(_is_of_no_matter(name, names, then) or (is_settings and name.isupper()) for name in changed)


def _is_of_no_matter(name: str, names: Mapping[str, object], then: Mapping[str, object]) -> bool:
    """Return whether a name stands for an equal number or text, or for a module that was imported from a package."""
    if name not in then:
        return type(names[name]) is ModuleType
    before = scalar_text(then[name])
    return before is not None and name in names and scalar_text(names[name]) == before


_watch = _Watch()
_patched = 0
# Whether something was changed that is not part of the text.
_later_was_changed: list[bool] = []
