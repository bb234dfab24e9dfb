"""Patches: whether numba's code is what it was when it was first looked at, as programs change it in every way.

What the names of its modules and classes stand for, what is within that, and which modules go by numba's names.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import ModuleType
from typing import Any

from gridjit.compiler.frontend.kept.stamps import of_dictionaries
from gridjit.compiler.frontend.kept.within import FRONT_END, Watched, Within, same_items
from gridjit.compiler.key.source.objects import MISSING
from gridjit.compiler.key.source.scalars import scalar_text

# What Python remembers of a class that was copied and of a module that warned, and how numba counts its shared arrays,
# variables and loops to give each a name.
_MEMORIES = frozenset(
    ("__slotnames__", "__warningregistry__", "_unique_smem_id", "_unique_var_count", "aa_count", "id_counter")
)
# Where numba keeps what it made before, who listens to it, and at which addresses C functions are in this process.
_MEMOS = frozenset({"_typecache", "_struct_proxy_cache", "loc_info", "disabled_types", "_registered", "c_helpers"})
# The modules of numba's settings, which are compared one by one elsewhere.
SETTINGS = ("numba.core.config", "numba.cuda.core.config")
# What Python puts into a module when it loads it: of places that differ, and of no code.
_OF_MODULES = frozenset(
    {"__file__", "__cached__", "__path__", "__doc__", "__builtins__", "__annotations__", "__spec__"}
)
_NOT_TOLD = _MEMORIES | _MEMOS
# gridjit gives the driver's module a GPU that the host stands in for; it is no part of what compiles callees.
_DRIVER = "numba.cuda.cudadrv.driver"


class _Group:
    """Modules and classes that were found together, with all that their names stood for."""

    def __init__(self) -> None:
        self._tables = Watched(_copied, _same, _of_names)
        # The names of modules and classes, each followed by those in it, and what these stood for, all the way down.
        self.told: list[str] = []
        self.within = Within()
        # The text of all this, once it was asked for, by how many there were.
        self.text: dict[int, str | None] = {}

    def add(self, owners: Iterable[Any]) -> None:
        """Watch these too."""
        start = len(self._tables.objects)
        self._tables.add(sorted(owners, key=owner_name))
        new = zip(self._tables.objects[start:], self._tables.then[start:], strict=True)
        told = [(name, _telling(names)) for owner, names in new if (name := owner_name(owner)) not in SETTINGS]
        self.told += chain.from_iterable((name, *names) for name, names in told)
        self.within.add(chain.from_iterable(names.values() for _, names in told))

    def hold(self) -> bool:
        """Return whether all is what it was."""
        return self._tables.hold() and self.within.hold()


class _Watch:
    """All that was looked at. first: what was there at once; later: what was imported since, as compiles do."""

    def __init__(self) -> None:
        self.first, self.later = _Group(), _Group()
        self._modules: Mapping[str, ModuleType] = {}
        self._owners: dict[int, object] = {}  # kept alive: by their identity
        self._imports = _imports()

    def hold(self) -> bool:
        return self.first.hold() and self.later.hold()

    def look_for_more(self) -> bool:
        """Watch what was imported since; return whether each module is still the one that goes by its name."""
        if self._imports.objects and self._imports.hold():
            return True
        self._imports = _imports()
        self._imports.add([sys.modules])
        (found,) = self._imports.then
        if any(found.get(name) is not module for name, module in self._modules.items()):
            return False
        self._modules = found
        self._add([owner for owner in _owners(found) if id(owner) not in self._owners])
        return True

    def _add(self, new: list[Any]) -> None:
        self._owners.update((id(owner), owner) for owner in new)
        _first_modules.update(() if _first_modules else map(module_of, new))
        first = [module_of(owner) in _first_modules for owner in new]
        self.first.add(owner for owner, is_first in zip(new, first, strict=True) if is_first)
        self.later.add(owner for owner, is_first in zip(new, first, strict=True) if not is_first)


def _imports() -> Watched[dict[str, ModuleType]]:
    return Watched(_numbas_modules, lambda all_, then: same_items(_numbas_modules(all_), then), of_dictionaries)


def _numbas_modules(modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    return {name: module for name, module in [*modules.items()] if name.startswith(FRONT_END)}


def patches() -> int:
    """Return a number that is another once numba's code is another; its own functions must be in place."""
    global _patched, _watch
    if not _watch.hold() or not _watch.look_for_more():
        _patched += 1
        _watch = _Watch()
        _watch.look_for_more()
    return _patched


def numbas_own_text() -> str | None:
    """Return what tells numba's code from other code in any process; None if a program's stands in its place.

    What was imported in the middle of compiles is looked at too, but what that was is up to them.
    """
    first, later = map(_text_of, (_watch.first, _watch.later))
    return None if later is None else first


def _text_of(group: _Group) -> str | None:
    from gridjit.compiler.frontend.kept.stored.around import numbas_text

    if (count := len(group.told)) not in group.text:
        group.text[count] = numbas_text(group.told, group.within)
    return group.text[count]


def _copied(owner: Any) -> dict[str, object]:
    return dict(vars(owner))


def _of_names(owners: Iterable[Any]) -> Any:
    return of_dictionaries([_dictionary(vars(owner)) for owner in owners])


def _dictionary(names: Mapping[str, object]) -> dict[Any, Any]:
    """Return the dictionary of a module's or a class's names; a class shows it through a proxy."""
    found: dict[Any, Any] = names if isinstance(names, dict) else gc.get_referents(names)[0]
    return found


def _telling(names: Mapping[str, object]) -> Mapping[str, object]:
    """Return the names but those that Python and numba change themselves, and the modules of a package."""
    is_module = "__spec__" in names
    if not is_module and _NOT_TOLD.isdisjoint(names):
        return names
    skipped = _NOT_TOLD | _OF_MODULES if is_module else _NOT_TOLD
    return {key: value for key, value in names.items() if type(value) is not ModuleType and key not in skipped}


def _same(owner: Any, then: dict[str, object]) -> bool:
    """Return whether names stand for what they did then, and note what was added or changed that changes nothing."""
    names: Any = _dictionary(vars(owner))
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


def owner_name(owner: Any) -> str:
    """Return the name of a module or a class."""
    return str(owner.__name__ if type(owner) is ModuleType else f"{owner.__module__}.{owner.__qualname__}")


def module_of(owner: Any) -> str:
    """Return the name of a module, or of the one that a class is of."""
    return str(owner.__name__ if type(owner) is ModuleType else owner.__module__)


def _owners(modules: Mapping[str, Any]) -> Iterator[Any]:
    """Yield numba's modules and their classes, llvmlite's too."""
    for name, module in modules.items():
        if name != _DRIVER and type(module) is ModuleType and module.__name__ == name:
            yield module
            values: list[Any] = [*vars(module).values()]
            kinds: list[Any] = [*map(type, values)]
            yield from (
                one for one, kind in zip(values, kinds, strict=True) if _is_of_classes(kind) and one.__module__ == name
            )


# Of each class once: there are thousands of values.
_is_of_classes: Callable[[Any], bool] = functools.cache(lambda kind: issubclass(kind, type))

_watch = _Watch()
_patched = 0
# The modules that were there when they were looked at first, before any compile.
_first_modules: set[str] = set()
