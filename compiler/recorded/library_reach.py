"""Reach: the settings and code that installed code may read when it takes part in a compile, found by its names.

Installed code is identified by its distribution. A walk over it finds its other inputs: the settings that it may read,
unless the compile itself changes them, and the functions and classes that its names stand for.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.key.installed import Distribution, owner_of
from gridjit.compiler.recorded.code_names import (
    CodeNames,
    code_of_import,
    names_in,
    names_of,
    names_of_all,
    names_of_module,
)
from gridjit.compiler.recorded.library_code import METHODS, name_now, unseen_code
from gridjit.compiler.recorded.library_settings import (
    DECLARED,
    LibrarySetting,
    declaration_of,
    is_users,
    setting_now,
    setting_text,
    unseen_now,
)
from gridjit.compiler.source.dynamic import works_names_out
from gridjit.compiler.source.libraries import home_of, is_library, name_of_module
from gridjit.compiler.source.objects import closure_of, defaults_of, of_kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """The settings that installed code reaches, the distributions of that code, and names of code in them."""

    settings: tuple[LibrarySetting, ...]
    distributions: frozenset[Distribution]
    # Names that stand for functions and classes, written as settings are. One that ends in a dot: a class's methods.
    code: tuple[LibrarySetting, ...] = ()

    def texts(self) -> dict[LibrarySetting, str | None]:
        """Return the text of each setting now, or None if it is not a setting any more."""
        return {setting: setting_now(*setting) for setting in self.settings}

    def unseen(self) -> tuple[str, ...]:
        """Return a sentence for each setting and name whose text is unknown."""
        reasons = (*(unseen_now(*one) for one in self.settings), *(unseen_code(*one) for one in self.code))
        return tuple(dict.fromkeys(reason for reason in reasons if reason))

    def code_texts(self) -> dict[LibrarySetting, str | None]:
        """Return the text of the code under each name now, or None if it is unknown."""
        return {named: name_now(*named) for named in self.code}


def reach(roots: Iterable[object], begun: Collection[str] = (), own: Mapping[str, ModuleType] | None = None) -> Reach:
    """Return the reach of installed functions and classes.

    own: modules whose import is followed too, if they are begun or reached.
    """
    walk, own = _Walk(), own or {}
    for root in roots:
        walk.follow(root)
    walk.run()
    imported, ahead = set(begun), {*begun}
    while ahead:
        for name in ahead:
            walk.importing(own[name])
        walk.run()
        ahead = {package for name in walk.modules for package in _packages_of(name)} & own.keys() - imported
        imported |= ahead
    packages = dict.fromkeys(package for name in walk.modules for package in _packages_of(name))
    declared = [(name, DECLARED) for name in packages if declaration_of(name) is not None]
    settings = (*declared, *walk.settings)
    return Reach(settings=settings, distributions=frozenset(walk.distributions), code=tuple(walk.code))


def reached_by(modules: Iterable[ModuleType]) -> frozenset[Distribution]:
    """Return the distributions whose code modules reach: by all that they hold, and by their imports."""
    walk = _Walk()
    for module in modules:
        walk.loading(module)
    walk.run()
    return frozenset(walk.distributions)


def _packages_of(module: str) -> Iterator[str]:
    """Yield the packages that a module is in, outermost first, and the module itself."""
    parts = module.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


class _Walk:
    """One visit of installed code, by the names in it. All its reads are among them."""

    def __init__(self) -> None:
        self.settings: dict[LibrarySetting, None] = {}
        self.code: dict[LibrarySetting, None] = {}
        self.distributions: set[Distribution] = set()
        self.modules: dict[str, None] = {}
        self._pending: deque[FunctionType | type] = deque()
        self._seen: dict[int, object] = {}
        self._entered: set[tuple[int, int]] = set()
        self._items = _MOST_ITEMS

    def follow(self, value: object, names: tuple[str, ...] = (), depth: int = 0) -> None:
        """Note the installed code in value. names: attributes that its user may take of a module."""
        kind = type(value)
        if kind in _CODELESS or id(value) in self._seen:
            return
        if issubclass(kind, ModuleType):
            self._module(value, names)  # type: ignore[arg-type]
        else:
            self._seen[id(value)] = value
            if kind is FunctionType or issubclass(kind, type):
                self._pending.append(value)  # type: ignore[arg-type]
            elif depth < _DEEPEST:
                for part in _parts_of(value):
                    self._items -= 1
                    if self._items > 0:
                        self.follow(part, names, depth + 1)

    def loading(self, module: ModuleType) -> None:
        """Note the installed code that a module holds, and that its source imports."""
        self._module(module, tuple(vars(module)))
        names = names_of_module(module).names
        for found in _imported(module.__package__, names):
            self._module(found, names)

    def importing(self, module: ModuleType) -> None:
        """Note the names that a module's import takes, less the module's own plain values, which the import sets."""
        run, namespace = code_of_import(module), vars(module)
        code = names_of_all(run)
        called = tuple(name for base, name in code.taken if not base and setting_text(namespace.get(name)) is None)
        self._namespace(name_of_module(module), namespace, called)
        names = _interned.setdefault(code.names, code.names)
        computes = any(works_names_out(one, namespace) for one in run)
        for found in _imported(module.__package__, names):
            if found is not module:
                self._module(found, names)
                if computes:
                    self._module(found, _public_settings(found))

    def run(self) -> None:
        """Visit all noted code, and the code that it reaches."""
        while self._pending:
            found = self._pending.popleft()
            name = home_of(found)
            if is_library(name):
                if of_kind(found, FunctionType):
                    self._wrapping(found)
                continue
            if (owner := owner_of(found)) is None:
                continue
            self.distributions.add(owner)
            self.modules[name] = None
            if isinstance(found, type):
                self._class(found)
            else:
                self._function(found)

    def _function(self, function: FunctionType) -> None:
        code = names_of(function.__code__)
        # Many functions may have been made of one code.
        if (id(code), id(function.__globals__)) not in self._entered:
            self._entered.add((id(code), id(function.__globals__)))
            self._entering(function, code)
        self._held(function, code.names)

    def _entering(self, function: FunctionType, code: CodeNames) -> None:
        """Match a function's names with its module, and with the modules that it names or may import."""
        module, namespace, names = home_of(function), function.__globals__, code.names
        self._namespace(module, namespace, names)
        package = namespace.get("__package__")
        for found in _imported(package, names if code.imports else code.texts):
            self._module(found, names)
        for base, name in code.taken:
            if not base:
                if name not in namespace and not hasattr(builtins, name):
                    self.settings[module, name] = None
            elif of_kind(named := namespace.get(base), ModuleType):
                self._absent(named, (name,))
            elif code.imports:
                for found in _imported(package, (base,)):
                    self._absent(found, (name,))
        if code.computes:
            for named in {id(v): v for v in map(namespace.get, names) if of_kind(v, ModuleType)}.values():
                self._absent(named, code.texts)
                self._module(named, self._spelled(namespace, names))
                if works_names_out(function.__code__, namespace):
                    self._module(named, _public_settings(named))

    def _absent(self, module: ModuleType, names: Iterable[str]) -> None:
        """Note names that code takes of a module that does not have them now: it may have them another time."""
        if is_library(module.__name__) or owner_of(module) is None:
            return
        for name in names:
            if name.isidentifier() and name not in vars(module):
                self.settings[module.__name__, name] = None

    def _spelled(self, namespace: Mapping[str, object], names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names in the texts that code refers to: TAKEN = "TILE", getattr(settings, TAKEN)."""
        values = (namespace.get(name) for name in names if not name.startswith("__"))
        return _interned.setdefault(found := tuple(names_in(value for value in values if type(value) is str)), found)

    def _wrapping(self, function: FunctionType) -> None:
        """Follow the function that a library's function wraps, as functools.singledispatch and decorators do."""
        self.follow(vars(function).get("__wrapped__"))
        self._held(function, ())

    def _held(self, function: FunctionType, names: tuple[str, ...]) -> None:
        for held in (closure_of(function), defaults_of(function), vars(function)):
            for value in held.values():
                self.follow(value, names)

    def _class(self, cls: type) -> None:
        if "<locals>" not in cls.__qualname__:
            self.code[cls.__module__, f"{cls.__qualname__}{METHODS}"] = None
        for base in cls.__bases__:
            self.follow(base)
        for name, value in tuple(vars(cls).items()):
            if not name.startswith("__") and "<locals>" not in cls.__qualname__ and setting_text(value) is not None:
                self.settings[cls.__module__, f"{cls.__qualname__}.{name}"] = None
            else:
                self.follow(value)

    def _module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        if (id(module), id(names)) in self._entered or is_library(name_of_module(module)):
            return
        self._entered.add((id(module), id(names)))
        if (owner := owner_of(module)) is not None:
            self.distributions.add(owner)
            self.modules[name_of_module(module)] = None
            self._namespace(name_of_module(module), vars(module), names)

    def _namespace(self, module: str, namespace: Mapping[str, object], names: tuple[str, ...]) -> None:
        for name in names:
            if name in namespace:
                value = namespace[name]
                if setting_text(value) is not None or is_users(value):
                    self.settings[module, name] = None
                else:
                    if callable(value):
                        self.code[module, name] = None
                    self.follow(value, names)


def _public_settings(module: ModuleType) -> tuple[str, ...]:
    """Return the names of all settings of a module, since code takes one by a name that it works out."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    names = tuple(name for name, value in public.items() if setting_text(value) is not None)
    return _interned.setdefault(names, names)


def _parts_of(value: object) -> Iterable[object]:
    """Return the parts of an object that may hold code: its class, a container's items, a wrapper's function."""
    kind = type(value)
    if issubclass(kind, property):
        return [getattr(value, name) for name in ("fget", "fset", "fdel")]
    if issubclass(kind, (staticmethod, classmethod)):
        return [getattr(value, "__func__", None)]
    if issubclass(kind, MethodType):
        return [getattr(value, "__func__", None), getattr(value, "__self__", None)]
    if issubclass(kind, functools.partial):
        return [getattr(value, "func", None), getattr(value, "args", ()), getattr(value, "keywords", ())]
    if issubclass(kind, (dict, MappingProxyType)):
        return [kind, *_pairs(value)]
    if issubclass(kind, (list, tuple, set, frozenset, deque)):
        return [kind, *value]  # type: ignore[misc]
    state = _state(value)
    held = state if type(state) is dict else {}
    if is_library(kind.__module__) and kind.__module__ not in _WRAPPING:
        # A decorator's object. Decorators put the wrapped function there, and its class is not asked.
        return [held.get("__wrapped__"), held.get("py_func")]
    return [kind, *held.values()]


def _pairs(value: object) -> list[object]:
    """Return the keys and values of a mapping, without calling its class."""
    items = dict.items(value) if isinstance(value, dict) else value.items()  # type: ignore[attr-defined]
    return [part for pair in tuple(items) for part in pair]


def _state(value: object) -> object:
    try:
        return object.__getattribute__(value, "__dict__")
    except Exception as error:
        # A class may define __dict__ as it likes; then no code is looked for behind value.
        let_through(error)
        return None


def _imported(package: object, names: tuple[str, ...]) -> Iterator[ModuleType]:
    """Yield the loaded modules that code with these names may import, from its own package or from anywhere."""
    own = package.split(".") if isinstance(package, str) and package else []
    prefixes = ["", *(".".join(own[:count]) + "." for count in range(1, len(own) + 1))]
    for prefix in prefixes:
        for name in names:
            if isinstance(module := sys.modules.get(prefix + name), ModuleType):
                yield module


# Values that do not lead to code.
_CODELESS = frozenset(
    {type(None), type(...), bool, int, float, complex, str, bytes, bytearray, CellType, CodeType}
    | {BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType}
)
# Modules of libraries whose objects stand for code that they were given.
_WRAPPING = ("functools",)
# How deep objects in objects are followed, and how many parts of objects and containers a walk looks at.
_DEEPEST = 8
_MOST_ITEMS = 50_000
# One object for all equal lists of names.
_interned: dict[tuple[str, ...], tuple[str, ...]] = {}
