"""Patches: whether numba's code is what it was at the first look: programs change it in every way.

It compares what the names of its modules and classes refer to, what is inside that, and which modules have numba's
names.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, compress, filterfalse, repeat
from types import ModuleType
from typing import Any, TypeAlias

from gridjit.compiler.frontend.kept.within import FRONT_END, Within
from gridjit.compiler.key.source.objects import MISSING
from gridjit.compiler.key.source.scalars import scalar_text
from gridjit.compiler.process.collecting import making_what_stays
from gridjit.compiler.process.stamps import of_dictionaries
from gridjit.compiler.process.watched import Watched, same_items

# What Python remembers of a class that was copied and of a module that warned, and how numba counts its shared arrays,
# variables and loops to give each a name.
_MEMORIES = frozenset(
    ("__slotnames__", "__warningregistry__", "_unique_smem_id", "_unique_var_count", "aa_count", "id_counter")
)
# Where numba and llvmlite keep what they made before, who listens to it, and at which addresses C functions are in this
# process.
_MEMOS = frozenset(
    ("_typecache", "_struct_proxy_cache", "_instance_cache", "loc_info", "disabled_types", "_registered", "c_helpers")
)
# The modules of numba's settings, which are compared one by one elsewhere.
SETTINGS = ("numba.core.config", "numba.cuda.core.config")
# What Python puts into a module when it loads it: of places that differ, and of no code.
_OF_MODULES = frozenset(
    {"__file__", "__cached__", "__path__", "__doc__", "__builtins__", "__annotations__", "__spec__"}
)
_NOT_TOLD = _MEMORIES | _MEMOS
_NOT_TOLD_OF_MODULES = _NOT_TOLD | _OF_MODULES
# gridjit gives the driver's module a GPU that the host stands in for; it is not part of what compiles callees.
_DRIVER = "numba.cuda.cudadrv.driver"

# What a compile replaced in numba's modules and classes and what that was, by their identity and by name.
Originals: TypeAlias = "Mapping[int, Mapping[str, Any]]"
# The name of a module or a class, itself, and the dictionary of its names.
_Owner: TypeAlias = "tuple[str, Any, dict[str, object]]"


class _Group:
    """Modules and classes that were found together, with all that their names stood for."""

    def __init__(self) -> None:
        self._owners: Watched[_Owner] = Watched(_copied, _same, _of_names)
        # Those of which a text tells, with their names: all but settings.
        self._told: list[tuple[str, Mapping[str, object]]] = []
        # What the names that are told of stood for, all the way down.
        self._within = Within()
        # The text of all this, once it was asked for, by how many there were.
        self._text: dict[int, str | None] = {}

    def add(self, owners: Iterable[tuple[str, Any]], originals: Originals) -> None:
        """Watch these too: modules and classes, each with the name of its module."""
        start = len(self._owners.objects)
        found = [(_name(module, owner), owner, _dictionary(vars(owner))) for module, owner in owners]
        self._owners.add(sorted(found, key=operator.itemgetter(0)))
        if originals:
            for (_, owner, _), names in zip(self._owners.objects[start:], self._owners.then[start:], strict=True):
                _restore(names, originals.get(id(owner), {}))
        added = zip(self._owners.objects[start:], self._owners.then[start:], strict=True)
        told = [(name, names) for (name, _, _), names in added if name not in SETTINGS]
        self._told += told
        self._within.add(chain.from_iterable(map(_values, map(operator.itemgetter(1), told))))

    def hold(self) -> bool:
        """Return whether all is what it was."""
        return self._owners.hold() and self._within.hold()

    def text(self) -> str | None:
        """Return what tells all this in any process; None if a program's code is in it."""
        from gridjit.compiler.frontend.kept.stored.around import numbas_text

        if (count := len(self._owners.objects)) not in self._text:
            told = chain.from_iterable((name, *_names(names)) for name, names in self._told)
            self._text[count] = numbas_text(told, self._within)
        return self._text[count]


class _Watch:
    """All that was looked at. first: what was there at once; later: what was imported since, as compiles do."""

    def __init__(self) -> None:
        self.first, self.later = _Group(), _Group()
        self._modules: Mapping[str, ModuleType] = {}
        self._owners: dict[int, object] = {}  # kept alive: by their identity
        self._imports = _imports()

    def hold(self) -> bool:
        return self.first.hold() and self.later.hold()

    def look_for_more(self, originals: Originals) -> bool:
        """Watch what was imported since; return whether each module is still the one that goes by its name."""
        if self._imports.objects and self._imports.hold():
            return True
        self._imports = _imports()
        self._imports.add([sys.modules])
        (found,) = self._imports.then
        if any(found.get(name) is not module for name, module in self._modules.items()):
            return False
        self._modules = found
        new = [(module, owner) for module, owner in _owners(found, originals) if id(owner) not in self._owners]
        if self._owners:
            self._add(new, originals)
        else:
            making_what_stays(lambda: self._add(new, originals))
        return True

    def _add(self, new: list[tuple[str, Any]], originals: Originals) -> None:
        self._owners.update((id(owner), owner) for _, owner in new)
        note_first_modules()
        first = [module in _first_modules for module, _ in new]
        self.first.add(compress(new, first), originals)
        self.later.add(compress(new, map(operator.not_, first)), originals)


def _imports() -> Watched[dict[str, ModuleType]]:
    return Watched(_numbas_modules, lambda all_, then: same_items(_numbas_modules(all_), then), of_dictionaries)


def _numbas_modules(modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    return {name: module for name, module in [*modules.items()] if name.startswith(FRONT_END)}


def patches(originals: Originals) -> int:
    """Return a number that changes when numba's code changes.

    originals: what gridjit's own compile, now under way, replaced in numba; that counts as unchanged.
    """
    global _patched, _watch
    if not _watch.hold() or not _watch.look_for_more(originals):
        _patched += 1
        _watch = _Watch()
        _watch.look_for_more(originals)
    return _patched


def note_first_modules() -> bool:
    """Note which of numba's modules are there, unless a compile began before; return whether none did.

    Modules that are imported later are kept apart from them.
    """
    if _first_modules:
        return False
    _first_modules.update(_numbas_modules(sys.modules))
    return True


def numbas_own_text() -> str | None:
    """Return what tells numba's code from other code in any process; None if a program's stands in its place.

    What compiles imported is looked at too, but is not part of the text, since each imports something else.
    """
    later = _watch.later.text()
    return None if later is None else _watch.first.text()


def _copied(one: _Owner) -> dict[str, object]:
    return one[2].copy()


def _of_names(owners: Iterable[_Owner]) -> Any:
    return of_dictionaries([names for _, _, names in owners])


def _dictionary(names: Mapping[str, object]) -> dict[Any, Any]:
    """Return the dictionary of a module's or a class's names; a class shows it through a proxy."""
    found: dict[Any, Any] = names if isinstance(names, dict) else gc.get_referents(names)[0]
    return found


def _skipped(names: Mapping[str, object]) -> Collection[str]:
    """Return those of the names that Python and numba change themselves."""
    skipped = _NOT_TOLD_OF_MODULES if "__spec__" in names else _NOT_TOLD
    if names.keys().isdisjoint(skipped):
        return ()
    return [name for name in names if name in skipped and not _is_llvmlites(name, names[name])]


def _values(names: Mapping[str, object]) -> Iterable[object]:
    """Return what the names that count stand for."""
    if not (skipped := _skipped(names)):
        return names.values()
    return [value for name, value in names.items() if name not in skipped]


def _names(names: Mapping[str, object]) -> Iterator[str]:
    """Return the names that count, but for those of modules: which of these are there depends on imports."""
    found = compress(names, map(operator.is_not, map(type, names.values()), repeat(ModuleType)))
    return filterfalse(skipped.__contains__, found) if (skipped := _skipped(names)) else found


def _is_llvmlites(name: str, value: object) -> bool:
    """Return whether a name is that of a memo, but stands for the one object of a class of llvmlite's."""
    return name == "_instance_cache" and type(value) is not dict


def _same(one: _Owner, then: dict[str, object]) -> bool:
    """Return whether names stand for what they did then, and note what was added or changed that changes nothing."""
    _, owner, names = one
    if same_items(names, then):
        return True
    is_settings = type(owner) is ModuleType and owner.__name__ in SETTINGS
    changed = {name for name in {*names, *then} if names.get(name, MISSING) is not then.get(name, MISSING)} - _MEMORIES
    same = all(_is_of_no_matter(name, names, then) or (is_settings and name.isupper()) for name in changed)
    if same:
        then.clear()
        then.update(names)
    return same


def _is_of_no_matter(name: str, names: Mapping[str, object], then: Mapping[str, object]) -> bool:
    """Return whether a name stands for an equal number or text, or for a module that was imported from a package."""
    if name not in then:
        return type(names[name]) is ModuleType
    before = scalar_text(then[name])
    return before is not None and name in names and scalar_text(names[name]) == before


def _name(module: str, owner: Any) -> str:
    """Return the name of a module, or of a class of it."""
    return module if type(owner) is ModuleType else f"{module}.{owner.__qualname__}"


def _restore(names: dict[str, Any], originals: Mapping[str, Any]) -> None:
    names.update(originals)
    for name in [name for name, value in originals.items() if value is MISSING]:
        del names[name]


def _owners(modules: Mapping[str, Any], originals: Originals) -> Iterator[tuple[str, Any]]:
    """Yield numba's modules and their classes, llvmlite's too, each with the name of its module."""
    for name, module in modules.items():
        if name != _DRIVER and type(module) is ModuleType and module.__name__ == name:
            yield name, module
            values: list[Any] = [*vars(module).values(), *originals.get(id(module), {}).values()]
            classes = compress(values, map(_is_of_classes, map(type, values)))
            yield from ((name, one) for one in dict.fromkeys(classes) if one.__module__ == name)


# Of each class once: there are thousands of values.
_is_of_classes: Callable[[Any], bool] = functools.cache(lambda kind: issubclass(kind, type))

_watch = _Watch()
_patched = 0
# The modules that were there before any compile.
_first_modules: set[str] = set()
