"""What programs put into numba's modules and classes, as labelled key fields: any of it may make other kernels.

This covers a function or a class in place of numba's own, and other code in one of numba's functions. A process that
has not imported numba has put nothing there. Later looks inspect only what has changed.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from itertools import compress
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

from gridjit.compiler.key.extensions import numbered
from gridjit.compiler.key.installed import distribution_of, owner_of
from gridjit.compiler.key.source.code import plan_of
from gridjit.compiler.key.source.fingerprint import fingerprint_values
from gridjit.compiler.key.source.libraries import home_of, is_library, is_numbas, name_of_module
from gridjit.compiler.key.source.objects import cell_value
from gridjit.compiler.key.source.opaque import of_kind
from gridjit.compiler.process.collecting import collecting_rarely
from gridjit.compiler.process.stamps import Stamps, of_attributes, of_dictionaries
from gridjit.compiler.process.watched import Watched, same_items
from gridjit.forking import lock, section

Fields: TypeAlias = "tuple[tuple[str, str], ...]"
# The module that it is of, its name, and the dictionary of its names.
_Owner: TypeAlias = "tuple[ModuleType, str, dict[str, Any]]"
# What holds a function, each with how to get at it.
_HOLDERS: Mapping[type, Callable[[Any], tuple[object, ...]]] = {
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    MethodType: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel),
    functools.cached_property: lambda value: (value.func,),
    functools.partial: lambda value: (value.func,),
    type(functools.lru_cache(len)): lambda value: (value.__wrapped__,),
}


def put_in_numba() -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of what is in numba's place, and why artifacts made with it may not be stored."""
    global _numba
    with section(), _lock:
        try:
            put = collecting_rarely(_numba.look)  # it makes ten thousand objects, none of which is garbage
        except BaseException:
            _numba = _Numba()  # what was only half looked at
            raise
    fields: list[tuple[str, str]] = []
    private: list[str] = []
    for label, value in put:
        text, hidden = _told(label, value)
        fields.append((label, text))
        private += hidden
    return numbered(sorted(fields)), tuple(dict.fromkeys(private))


class _Numba:
    """All of numba that was looked at, and what of it is not numba's own.

    Few objects are kept of each thing: there are ten thousand, and so many new ones set Python's collector off.
    """

    def __init__(self) -> None:
        self._imports: Watched[dict[str, Any]] = Watched(self._modules_of, self._look_for_more, of_dictionaries)
        self._modules: dict[str, ModuleType] = {}
        self._classes: set[type] = set()
        self._owners: Watched[_Owner] = Watched(self._names_of, self._look_again, _of_names)
        self._new_owners: list[_Owner] = []
        # What is put there, by the identity of a module's or a class's dictionary: its name, and that of what is put.
        self._put: dict[int, tuple[str, dict[str, object]]] = {}
        # Numba's functions and their codes, which stay alive: their addresses are compared.
        self._codes: dict[FunctionType, CodeType] = {}
        self._functions: Watched[FunctionType] = Watched(self._codes.get, self._has_code, _of_codes)
        self._new_functions: list[FunctionType] = []
        # Those with other code than numba's.
        self._changed: dict[FunctionType, None] = {}

    def look(self) -> list[tuple[str, object]]:
        """Return what is not numba's own now, with a label for each."""
        self._owners.hold()
        self._functions.hold()
        if self._imports.objects:
            self._imports.hold()
        else:
            self._imports.add([sys.modules])
        while self._new_owners:
            owners, self._new_owners = self._new_owners, []
            self._owners.add(owners)
        if self._new_functions:
            functions, self._new_functions = self._new_functions, []
            self._functions.add(functions)
            self._changed.update(dict.fromkeys(_with_other_code(functions)))
        found = [(f"put in numba: {path}.{name}", one) for path, put in self._put.values() for name, one in put.items()]
        return [*found, *((f"code of {one.__module__}.{one.__qualname__}", one) for one in self._changed)]

    def _modules_of(self, modules: dict[str, Any]) -> None:
        """Look for numba's modules that were imported since, or have the place of others."""
        for name, module in [*modules.items()]:
            if name.startswith("numba") and self._modules.get(name) is not module and _is_of_numba(name, module):
                self._modules[name] = module
                self._new_owners.append((module, name, vars(module)))

    def _look_for_more(self, modules: dict[str, Any], _: None) -> bool:
        self._modules_of(modules)
        return True

    def _names_of(self, owner: _Owner) -> dict[str, Any]:
        """Return what the names of a module or class stand for, having looked at all of it."""
        module, path, names = owner
        then = names.copy()
        put: dict[str, object] = {}
        home, codes = vars(module), self._codes
        for name, value in compress(then.items(), map(_counts, map(type, then.values()))):
            if type(value) is FunctionType and value.__globals__ is home:
                if value not in codes:
                    self._watch(value)
            elif not self._holds_own(value, module):
                put[name] = value  # as a whole: what is bound to a function counts with it
        if put:
            self._put[id(names)] = path, put
        return then

    def _look_again(self, owner: _Owner, then: dict[str, Any]) -> bool:
        """Look at a module or class anew if its names stand for something else; there is nothing else to do then."""
        if not same_items(owner[2], then):
            self._put.pop(id(owner[2]), None)
            now = self._names_of(owner)
            then.clear()
            then.update(now)
        return True

    def _holds_own(self, value: Any, module: ModuleType) -> bool:
        """Return whether a value, or each function that it holds, is not a program's."""
        parts = _HOLDERS.get(type(value))
        if parts is None:
            return self._is_own(value, module)
        return all(self._is_own(part, module) for part in parts(value) if part is not None)

    def _is_own(self, value: object, module: ModuleType) -> bool:
        """Return whether a value of one of numba's modules is not a program's; what is numba's is looked into."""
        if of_kind(value, type) and value.__module__ == module.__name__:
            if value not in self._classes:
                self._classes.add(value)
                self._new_owners.append((module, f"{value.__module__}.{value.__qualname__}", _dictionary(value)))
        elif type(value) is FunctionType and (value in self._codes or is_library(home_of(value))):
            self._watch(value)
        else:
            return not _is_put(value, module)
        return True

    def _watch(self, function: FunctionType) -> None:
        """Watch the code of one of numba's functions, and of those that it wraps, or that another library's wraps."""
        if function in self._codes:
            return
        self._codes[function] = function.__code__
        if is_own_function(function):
            self._new_functions.append(function)
        for cell in function.__closure__ or ():
            inner = cell_value(cell)
            if type(inner) is FunctionType and is_own_function(inner):
                self._watch(inner)

    def _has_code(self, function: FunctionType, _: object) -> bool:
        """Look at the code that a function has now; there is nothing else to do if it is another."""
        self._codes[function] = function.__code__
        self._changed.pop(function, None)
        self._changed.update(dict.fromkeys(_with_other_code([function])))
        return True


def is_own_function(function: FunctionType) -> bool:
    """Return whether a function runs in one of numba's modules, whatever its code is."""
    return _is_numbas(function.__globals__.get("__name__"))


def _with_other_code(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Return those whose code is not of their module's file or, if they wrap nothing, of another name than theirs."""
    return [
        function
        for function in functions
        if (
            (code := function.__code__).co_filename != function.__globals__.get("__file__")
            or not (function.__qualname__.endswith(code.co_name) or code.co_freevars)
        )
        and not _is_of_dataclass(function)
    ]


def _is_of_dataclass(function: FunctionType) -> bool:
    """Return whether dataclasses wrote a function, as they do for some of numba's classes: such code has no file."""
    name = function.__code__.co_name
    return function.__code__.co_filename == "<string>" and any(
        name in vars(one) for one in function.__globals__.values() if of_kind(one, type) and is_dataclass(one)
    )


def _is_put(value: object, module: ModuleType) -> bool:
    """Return whether something that is not numba's was put into one of numba's modules, not imported by the module."""
    home = home_of(value if of_kind(value, type) or of_kind(value, FunctionType) else type(value))
    if is_library(home) or not _is_pythons(home, value):
        return False
    return distribution_of(home) is None or not _imports(module, home.partition(".")[0])


def _is_pythons(home: str, value: object) -> bool:
    """Return whether Python code defines it: what C defines, and what libraries make with exec, has no file."""
    names = value.__globals__ if isinstance(value, FunctionType) else getattr(sys.modules.get(home), "__dict__", {})
    return home == "__main__" or str(names.get("__file__", "")).endswith((".py", ".pyc"))


@functools.cache
def _imports(module: ModuleType, top: str) -> bool:
    """Return whether one of numba's modules imports from a package by itself, as it does to colour its messages."""
    try:
        text = Path(str(module.__file__)).read_text()
    except (OSError, ValueError):
        return False
    return f"from {top} " in text or f"from {top}." in text or f"import {top}" in text


def _told(label: str, value: object) -> tuple[str, tuple[str, ...]]:
    """Return what tells one thing that was put into numba from others, and why that is not all of it."""
    if isinstance(value, FunctionType) and is_own_function(value):
        return plan_of(value.__code__).digest, ()
    if isinstance(value, (FunctionType, type)) and (owner := owner_of(value)) is not None:
        late = f"{owner.name} was modified after this process began, so what is loaded may be older"
        return f"{owner.identity} {home_of(value)}.{value.__qualname__}", (late,) if owner.overtaken else ()
    found = fingerprint_values([(label, value)], running=True)
    return found.digest, found.opaque


# Of each class once: there are thousands of values.
@functools.cache
def _counts(kind: type) -> bool:
    """Return whether objects of a class are looked at: functions, what holds one, classes, and a program's objects."""
    if kind is FunctionType or kind in _HOLDERS or issubclass(kind, type):
        return True
    home = home_of(kind)
    return not is_library(home) and distribution_of(home) is None and _is_pythons(home, kind)


_is_numbas: Callable[[Any], bool] = functools.cache(lambda name: isinstance(name, str) and is_numbas(name))


def _is_of_numba(name: str, module: object) -> bool:
    return is_numbas(name) and type(module) is ModuleType and name_of_module(module) == name


def _dictionary(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = gc.get_referents(vars(cls))[0]  # a class shows it through a proxy
    return found


def _of_names(owners: Iterable[_Owner]) -> Stamps | None:
    return of_dictionaries([names for _, _, names in owners])


def _of_codes(functions: Sequence[FunctionType]) -> Stamps | None:
    return of_attributes(["__code__"], functions)


_lock = lock()
_numba = _Numba()
