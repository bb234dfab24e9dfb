"""Loading: the registrations that numba's loading of installed extensions makes, and which are for every kernel.

Also the settings that the extensions read, as they were when the extensions were loaded.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.key.extensions import all_registrations, extensions, forget_in_keys, sources_fingerprint
from gridjit.compiler.key.installed import (
    Distribution,
    distribution_of_file,
    installed_as,
    installed_modules,
    is_generated,
    owner_of,
)
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.key.registry_entries import is_foreign
from gridjit.compiler.numba_state.changes import changes
from gridjit.compiler.recorded.code_names import names_of_module
from gridjit.compiler.recorded.everybody import (
    Answer,
    changed_since_it_began,
    extension_names,
    note_put,
    note_told,
    stamp_of,
    unknown,
    variable,
)
from gridjit.compiler.recorded.library_reach import reach, reached_by
from gridjit.compiler.recorded.library_settings import LibrarySetting, constants_of, declaration_of, setting_text
from gridjit.compiler.source.libraries import in_loaded, is_library, name_of_module
from gridjit.compiler.source.objects import MISSING, code_behind, of_kind

_RULES = ("numba.cuda.typeconv.rules", "numba.core.typeconv.rules")
_SETTINGS = ("numba.core.config", "numba.cuda.core.config")
_OF_ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})
_DEEPEST = 4  # classes in classes
_NUMBERS = ("boolean", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")


class Loading:
    """The state before numba loads the installed extensions. Until loading ends, their registrations are unknown."""

    def __init__(self) -> None:
        note_told(unknown(), lasting=False)
        registered = all_registrations()
        self._registered = [one.sources[0] for one in registered]
        self._owners = {one.owner.name for one in registered if one.owner is not None}
        self._modules = set(sys.modules)
        self._put, self._state = set(changes()[0]), _state()
        self._values = _all_values()
        self._variables: dict[str, str] = {}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Note the variables of the environment that are read in a block."""
        read, take = self._variables, os._Environ.__getitem__

        def noted(environment: Any, name: Any) -> Any:
            value = None
            try:
                value = take(environment, name)
                return value
            finally:
                read.setdefault(os.fsdecode(name), variable(None if value is None else os.fsdecode(value)))

        os._Environ.__getitem__ = noted  # type: ignore[method-assign]
        try:
            yield
        finally:
            os._Environ.__getitem__ = take  # type: ignore[method-assign]

    def end(self) -> None:
        """Note the registrations, and for each distribution its first registration that is for everybody."""
        before = {*map(id, self._registered)}
        now = all_registrations()
        new = [one for one in now if id(one.sources[0]) not in before]
        mine = [one for one in new if one.owner is not None or _is_generated(one)]
        changed = set(changes()[0]) - self._put
        put = {field: owner for field in changed if (owner := _putting(field[1], now)) is not None}
        forget_in_keys(mine, {name.partition(".")[0] for name in self._modules})
        note_put(put)
        names, files = extension_names(), tuple(sorted(set(self._files())))
        modules = {name: [one for one in installed_modules() if owner_of(one) in installed_as(name)] for name in names}
        considered = [one for one in now if one in mine or (one.owner is not None and one.owner.name in names)]
        rows = [*_rows(considered, names), *((owner, label) for (label, _), owner in put.items())]
        if _state() != self._state:
            rows += [(name, "changes of numba's settings or conversions") for name in names]
        lasting = (
            len(mine) == len(new)
            and changed <= put.keys()
            and self._owners <= {*names}
            and not changed_since_it_began(one for name in names for one in installed_as(name))
            and not any(self._asks_for_more(one) for found in modules.values() for one in found)
        )
        answer = Answer(
            registered=tuple(sorted(dict(reversed(rows)).items())),
            files=files,
            environment=tuple(sorted(self._variables.items())),
            settings=tuple(sorted(self._settings(modules))),
            reached=tuple(sorted(_reached(modules))),
        )
        note_told(answer, lasting=lasting)
        note_loaded_settings(set(sys.modules) - self._modules)

    def _asks_for_more(self, module: ModuleType) -> bool:
        """Return whether an extension's module may look at sys.modules, or may have read variables before loading.

        Variables that a package declares are among its settings.
        """
        names, is_declared = names_of_module(module), declaration_of(module.__name__.partition(".")[0]) is not None
        reads = not is_declared and not _OF_ENVIRONMENT.isdisjoint(names.names)
        before = module.__name__ in self._modules and reads
        return before or ("sys", "modules") in names.taken

    def _settings(self, modules: dict[str, list[ModuleType]]) -> Iterator[tuple[str, str, str, str, int]]:
        """Yield the plain values that loading may have read: all that its code names, as they were before."""
        values = _all_values()
        replaced = dict.fromkeys(self._replaced(values))
        for name, _, loader in current_extensions():
            module, _, function = loader.partition(":")
            own = {name_of_module(one): one for one in modules[name]}
            texts = reach([in_loaded(module, function)], own.keys() - self._modules, own).texts()
            for (home, path), text in {**replaced, **texts}.items():
                now = values.get(home, {}).get(path, MISSING)
                before = self._before(home, path, now, text)
                if before is not None:
                    by_import = home not in self._values or before == _imported(home, path, now)
                    yield name, home, path, before, int(by_import)

    def _replaced(self, now: dict[str, dict[str, object]]) -> Iterator[LibrarySetting]:
        """Yield the plain values in place of which loading put objects."""
        for module, values in now.items():
            for path in self._values[module] if module in self._values else constants_of(module):
                if setting_text(values.get(path)) is None and self._before(module, path, values.get(path), None):
                    yield module, path

    def _before(self, module: str, path: str, now: object, text: str | None) -> str | None:
        """Return the text of a setting before loading, or as its module's import gave it. text: its text now."""
        if module not in self._values:
            return _imported(module, path, now) or text
        before = self._values[module].get(path, MISSING)
        return text if before is now else _text_of(before)

    def _files(self) -> Iterator[tuple[str, int, int]]:
        for name in set(sys.modules) - self._modules:
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and not is_library(name) and distribution_of_file(file) is None:
                yield stamp_of(file)


def _imported(module: str, path: str, now: object) -> str | None:
    """Return the text that a module's source gives a setting; None if it does not say. A member stays as it is."""
    constants = constants_of(module)
    return _text_of(now if of_kind(now, enum.Enum) else constants[path]) if path in constants else None


def _text_of(value: object) -> str | None:
    return "undefined" if value is MISSING else setting_text(value)


def _all_values() -> dict[str, dict[str, object]]:
    return {name_of_module(one): _values(one) for one in installed_modules()}


def _values(home: ModuleType | type, prefix: str = "") -> dict[str, object]:
    """Return the values in a module, and in its classes, by names as settings have them."""
    found = {f"{prefix}{name}": value for name, value in vars(home).items()}
    module = vars(home).get("__name__" if isinstance(home, ModuleType) else "__module__")
    for name, value in tuple(found.items()):
        if isinstance(value, type) and vars(value).get("__module__") == module and name.count(".") < _DEEPEST:
            found.update(_values(value, f"{name}."))
    return found


def _reached(modules: dict[str, list[ModuleType]]) -> Iterator[tuple[str, str]]:
    """Yield (extension, distribution) for each other distribution whose code an extension's modules reach."""
    for name, mine in modules.items():
        yield from ((name, other) for other in {one.name for one in reached_by(mine)} - {name})


def _rows(found: Iterable[Registration], names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for one in sorted(found, key=_text):
        if one.owner is None:  # which of the extensions had the code made is not known
            yield from ((name, _text(one)) for name in names)
        elif not one.is_for_its_own:
            yield one.owner.name, _text(one)


def _text(found: Registration) -> str:
    return " ".join((found.kind, found.name, *(("for", found.about) if found.about else ())))


def _is_generated(found: Registration) -> bool:
    """Return whether exec made all parts of a registration that belong to no distribution."""
    parts = [code_behind(one) for one in found.sources if is_foreign(one)]
    return bool(parts) and all(owner_of(one) is not None or is_generated(one) for one in parts)


def _putting(text: str, registered: Iterable[Registration]) -> str | None:
    """Return the name of the distribution whose code was put into numba's place, as the text tells; None if unknown."""
    known: set[Distribution] = {one for name in extension_names() for one in installed_as(name)}
    known |= {one.owner for one in registered if one.owner is not None}
    return next((one.name for one in known if text.startswith(f"{one.identity} ")), None)


def _state() -> tuple[object, ...]:
    """Return numba's settings, and which numbers it converts to which."""
    settings = (in_loaded(module, "__dict__") or {} for module in _SETTINGS)
    return *(_plain(found) for found in settings), *(tuple(_conversions(module)) for module in _RULES)


def _plain(settings: dict[str, object]) -> dict[str, str]:
    return {name: repr(value) for name, value in settings.items() if name.isupper()}


def _conversions(module: str) -> Iterator[object]:
    manager = in_loaded(module, "default_type_manager")
    types = [in_loaded("numba.core.types", name) for name in _NUMBERS]
    if manager is not None and None not in types:
        yield from (manager.check_compatible(one, other) for one in types for other in types)


# The settings of modules that were imported with the installed extensions. A process that has not loaded them yet
# will find the same.
_as_loaded: dict[LibrarySetting, str | None] = {}
_loaded_modules: set[str] = set()


def note_loaded_settings(imported: Collection[str]) -> None:
    """Remember the settings of modules that were just imported, with the installed extensions."""
    _loaded_modules.update(imported)
    found = reach(roots(all_registrations())).texts()
    _as_loaded.update((setting, text) for setting, text in found.items() if setting[0] in imported)


def imported_by_loading() -> frozenset[str]:
    """Return the names of the modules that were imported with the installed extensions."""
    return frozenset(_loaded_modules)


def as_loaded(setting: LibrarySetting) -> str | None:
    """Return the text of a setting when the installed extensions were loaded; None if it was not there."""
    return _as_loaded.get(setting)


def roots(registered: Iterable[Registration]) -> list[object]:
    """Return the installed code in registrations, and installed code that the user's code in them may run."""
    registered = tuple(registered)
    mine = [source for one in registered if one.owner is not None for source in one.sources]
    users = [one for one in registered if one.owner is None and one.stub]
    return [*mine, *extensions().reached, *(sources_fingerprint(users).reached if users else ())]
