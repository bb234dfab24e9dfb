"""The settings that installed code reads while it takes part in a compile: found by names, recorded by value.

Installed code is identified by its distribution and not looked into. What programs set in it are plain values of its
modules and classes (a bool, a number, a text, None, an enum's member, tuples of those): each that the code reachable
from what is registered may read counts, unless the compile itself changes it. A package can say the rest itself,
through a function `__gridjit_settings__()` of its top-level module.
"""

from __future__ import annotations

import builtins
import enum
import functools
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
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

from gridjit.compiler.key.installed import Distribution, owner_of
from gridjit.compiler.key.source.dynamic import works_names_out
from gridjit.compiler.key.source.fingerprint import fingerprint_values
from gridjit.compiler.key.source.libraries import is_library, name_of_module
from gridjit.compiler.key.source.opaque import OpaqueValue, of_kind
from gridjit.compiler.key.source.scalars import scalar_text
from gridjit.compiler.key.source.values import Visit, is_librarys, type_name, value_text
from gridjit.compiler.recorded.code_names import CodeNames, names_in, names_of
from gridjit.compiler.recorded.library_code import METHODS, NOT_LOADED, name_text
from gridjit.values import dataclass

# The function of a package that says what its settings are, as it is written among them.
DECLARED = "__gridjit_settings__()"
# A setting is named by its module and its path inside it: ("mylib.config", "TILE"), ("mylib.plan", "Plan.DEPTH").
Setting = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """What installed code reaches: its settings, the distributions that its code is of, and names of code in them."""

    settings: tuple[Setting, ...]
    distributions: frozenset[Distribution]
    # Names that stand for functions and classes, as settings are named; with a dot behind it, a class's methods.
    code: tuple[Setting, ...] = ()

    def texts(self) -> dict[Setting, str | None]:
        """Return what each setting is now; None for what is none any more."""
        return {setting: setting_now(*setting) for setting in self.settings}

    def code_texts(self) -> dict[Setting, str | None]:
        """Return what each name of code stands for now; None for what cannot be told."""
        return {named: _code_now(*named) for named in self.code}


def reach(roots: Iterable[object]) -> Reach:
    """Return what is reached from installed functions and classes, and from the modules they name."""
    walk = _Walk()
    for root in roots:
        walk.follow(root)
    walk.run()
    packages = dict.fromkeys(package for name in walk.modules for package in _packages_of(name))
    declared = [(name, DECLARED) for name in packages if _declaration(name) is not None]
    settings = (*declared, *walk.settings)
    return Reach(settings=settings, distributions=frozenset(walk.distributions), code=tuple(walk.code))


def _code_now(module: str, name: str) -> str | None:
    try:
        return name_text(module, name)
    except OpaqueValue:
        return None


def _packages_of(module: str) -> Iterator[str]:
    """Yield the packages that a module is in, the outermost first, and itself: a namespace package has no code."""
    parts = module.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def setting_now(module: str, path: str) -> str | None:
    """Return the text of what a setting is now; "not loaded" without its module, None for what is not a plain value."""
    try:
        return _text_now(module, path)
    except OpaqueValue:
        return None


def unseen_now(settings: Iterable[Setting]) -> tuple[str, ...]:
    """Return a sentence for each setting that cannot be told: a failing declaration, the user's code in its place."""
    return tuple(dict.fromkeys(reason for setting in settings if (reason := _unseen(*setting))))


def unseen_code(names: Iterable[Setting]) -> tuple[str, ...]:
    """Return a sentence for each name that stands for the user's code which cannot be followed."""
    return tuple(dict.fromkeys(reason for named in names if (reason := _unseen_code(*named))))


def _unseen_code(module: str, name: str) -> str:
    try:
        name_text(module, name)
    except OpaqueValue as error:
        return f"{module}.{name.removesuffix(METHODS)} holds the user's code: {error}"
    return ""


def _unseen(module: str, path: str) -> str:
    try:
        _text_now(module, path)
    except OpaqueValue as error:
        return str(error)
    return ""


def setting_text(value: object) -> str | None:
    """Return the text of a plain value, None for anything that is not a setting."""
    if (text := scalar_text(value)) is not None:
        return text
    if of_kind(value, enum.Enum):
        inner = setting_text(value._value_)
        return f"{type(value).__module__}.{type(value).__qualname__}.{value._name_} = {inner}"
    if (text := _text_of_type(value)) is not None:
        return text
    if type(value) is tuple:
        texts = [setting_text(item) for item in value]
        return None if None in texts else f"({', '.join(text for text in texts if text)},)"
    return None


def _text_of_type(value: object) -> str | None:
    """Return the text of a library's class, a NumPy dtype or scalar, or a numba type: settings too; None for others."""
    if of_kind(value, type):
        return f"class {type_name(value)}" if is_librarys(value) else None
    if type(value).__module__.partition(".")[0] in ("numpy", "numba"):
        try:
            return value_text(value, Visit()) if _is_type_or_number(value) else None
        except OpaqueValue:
            return None
    return None


def _is_type_or_number(value: object) -> bool:
    kinds = {(cls.__module__, cls.__name__) for cls in type(value).__mro__}
    return bool(kinds & {("numpy", "generic"), ("numpy", "dtype"), ("numba.core.types.abstract", "Type")})


def _text_now(module: str, path: str) -> str | None:
    if module not in sys.modules:
        return NOT_LOADED
    if path == DECLARED:
        return _declared_text(module)
    found: object = sys.modules[module]
    for name in path.split("."):
        namespace = getattr(found, "__dict__", {})
        if name not in namespace:
            return "undefined"
        found = namespace[name]
    return _users_text(f"{module}.{path}", found) if _is_users(found) else setting_text(found)


def _is_users(value: object) -> bool:
    """Return whether value is code of the user's own, which a program put where installed code runs it."""
    if of_kind(value, FunctionType) or of_kind(value, type):
        return not is_library(_home(value)) and owner_of(value) is None
    return False


def _users_text(name: str, value: object) -> str:
    found = fingerprint_values([(name, value)], running=True)
    if found.opaque:
        raise OpaqueValue(f"{name} holds the user's code: {found.opaque[0]}")
    return f"the user's code {found.digest}"


def _declaration(module: str) -> object:
    return getattr(sys.modules.get(module), "__dict__", {}).get(DECLARED[:-2])


def _declared_text(module: str) -> str:
    declaration = _declaration(module)
    if not callable(declaration):
        return "undefined"
    try:
        text = _plain_text(declaration())
    except Exception as error:
        # Whatever the package's function raises, the launch goes on without the disk cache and explain() says why.
        raise OpaqueValue(f"{module}.{DECLARED} raised {type(error).__name__}: {error}") from error
    if text is None:
        raise OpaqueValue(f"{module}.{DECLARED} returned what is not a text, or a mapping of plain values")
    return text


def _plain_text(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return setting_text(value)
    texts = {str(name): setting_text(item) for name, item in value.items()}
    return None if None in texts.values() else repr(sorted(texts.items()))


class _Walk:
    """One visit of installed code, by the names in it: what it reads is among them, and perhaps more."""

    def __init__(self) -> None:
        self.settings: dict[Setting, None] = {}
        self.code: dict[Setting, None] = {}
        self.distributions: set[Distribution] = set()
        self.modules: dict[str, None] = {}
        self._pending: deque[FunctionType | type] = deque()
        self._seen: dict[int, object] = {}
        self._entered: set[tuple[int, int]] = set()
        self._items = _MOST_ITEMS

    def follow(self, value: object, names: tuple[str, ...] = (), depth: int = 0) -> None:
        """Note what installed code there is in value; names: what its user might take of a module."""
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

    def run(self) -> None:
        """Visit everything that was noted, and what that reaches."""
        while self._pending:
            found = self._pending.popleft()
            name = _home(found)
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
        module, namespace, names = _home(function), function.__globals__, code.names
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
        """Note names that code takes of a module which has none such: it may have another time."""
        if is_library(module.__name__) or owner_of(module) is None:
            return
        for name in names:
            if name.isidentifier() and name not in vars(module):
                self.settings[module.__name__, name] = None

    def _spelled(self, namespace: Mapping[str, object], names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names that the texts spell which code names: TAKEN = "TILE", getattr(settings, TAKEN)."""
        values = (namespace.get(name) for name in names if not name.startswith("__"))
        return _interned.setdefault(found := tuple(names_in(value for value in values if type(value) is str)), found)

    def _wrapping(self, function: FunctionType) -> None:
        """Follow what a library's function was made around: functools.singledispatch, a decorator's wrapper."""
        self.follow(vars(function).get("__wrapped__"))
        self._held(function, ())

    def _held(self, function: FunctionType, names: tuple[str, ...]) -> None:
        for cell in function.__closure__ or ():
            if cell != _EMPTY:
                self.follow(cell.cell_contents, names)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.follow(default, names)
        for value in vars(function).values():
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
                if setting_text(value) is not None or _is_users(value):
                    self.settings[module, name] = None
                else:
                    if callable(value):
                        self.code[module, name] = None
                    self.follow(value, names)


def _public_settings(module: ModuleType) -> tuple[str, ...]:
    """Return the names of all settings of a module, one of which code takes by a name that it works out."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    names = tuple(name for name, value in public.items() if setting_text(value) is not None)
    return _interned.setdefault(names, names)


def _home(found: FunctionType | type) -> str:
    name = found.__globals__.get("__name__") if isinstance(found, FunctionType) else found.__module__
    return name if isinstance(name, str) else ""


def _parts_of(value: object) -> Iterable[object]:
    """Return what an object's code may be in: its class, a container's items, what a wrapper stands for."""
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
        # A decorator's object: what it stands for is where decorators put it, and nothing is asked of its class.
        return [held.get("__wrapped__"), held.get("py_func")]
    return [kind, *held.values()]


def _pairs(value: object) -> list[object]:
    """Return the keys and values of a mapping; nothing of a class of its own is called."""
    items = dict.items(value) if isinstance(value, dict) else value.items()  # type: ignore[attr-defined]
    return [part for pair in tuple(items) for part in pair]


def _state(value: object) -> object:
    try:
        return object.__getattribute__(value, "__dict__")
    except Exception:
        # A class may make of its __dict__ what it likes; then value is nothing that code stands behind.
        return None


def _imported(package: object, names: tuple[str, ...]) -> Iterator[ModuleType]:
    """Yield the loaded modules that code with these names may import, from its own package or from anywhere."""
    own = package.split(".") if isinstance(package, str) and package else []
    prefixes = ["", *(".".join(own[:count]) + "." for count in range(1, len(own) + 1))]
    for prefix in prefixes:
        for name in names:
            if isinstance(module := sys.modules.get(prefix + name), ModuleType):
                yield module


# Values that no code stands behind.
_CODELESS = frozenset(
    {type(None), type(...), bool, int, float, complex, str, bytes, bytearray, CellType, CodeType}
    | {BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType}
)
# A library's modules whose objects stand for the code that they were given.
_WRAPPING = ("functools",)
# How far objects in objects are followed, and how many parts of objects and containers a walk looks at.
_DEEPEST = 8
_MOST_ITEMS = 50_000
# Equal lists of names, one object of each.
_interned: dict[tuple[str, ...], tuple[str, ...]] = {}
_EMPTY = CellType()
