"""The settings that installed code reads while it takes part in a compile: found by names, recorded by value.

Installed code is identified by its distribution and not looked into. What programs set in it are plain values of its
modules and classes (a bool, a number, a text, None, an enum's member, tuples of those): each that the code reachable
from what is registered may read counts, unless the compile itself changes it. A package can say the rest itself,
through a function `__gridjit_settings__()` of its top-level module.
"""

from __future__ import annotations

import enum
import functools
import opcode
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

from gridjit.compiler.installed import Distribution, owner_of
from gridjit.compiler.source import fingerprint_values
from gridjit.compiler.source_code import with_nested
from gridjit.compiler.source_library import is_library, name_of_module
from gridjit.compiler.source_opaque import OpaqueValue, of_kind
from gridjit.compiler.source_scalar import scalar_text
from gridjit.values import dataclass

# The function of a package that says what its settings are, as it is written among them.
DECLARED = "__gridjit_settings__()"
# The text of a setting whose module is not imported.
NOT_LOADED = "not loaded"
# A setting is named by its module and its path inside it: ("mylib.config", "TILE"), ("mylib.plan", "Plan.DEPTH").
Setting = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reach:
    """What installed code reaches: its settings, and the distributions that its code is of."""

    settings: tuple[Setting, ...]
    distributions: frozenset[Distribution]

    def texts(self) -> dict[Setting, str | None]:
        """Return what each setting is now; None for what is none any more."""
        return {setting: setting_now(*setting) for setting in self.settings}


def reach(roots: Iterable[object]) -> Reach:
    """Return what is reached from installed functions and classes, and from the modules they name."""
    walk = _Walk()
    for root in roots:
        walk.follow(root)
    walk.run()
    packages = dict.fromkeys(name.partition(".")[0] for name in walk.modules)
    declared = [(name, DECLARED) for name in packages if _declaration(name) is not None]
    return Reach(settings=(*declared, *walk.settings), distributions=frozenset(walk.distributions))


def setting_now(module: str, path: str) -> str | None:
    """Return the text of what a setting is now; "not loaded" without its module, None for what is no plain value."""
    try:
        return _text_now(module, path)
    except OpaqueValue:
        return None


def unseen_now(settings: Iterable[Setting]) -> tuple[str, ...]:
    """Return a sentence for each setting that cannot be told: a failing declaration, the user's code in its place."""
    return tuple(dict.fromkeys(reason for setting in settings if (reason := _unseen(*setting))))


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
    if type(value) is tuple:
        texts = [setting_text(item) for item in value]
        return None if None in texts else f"({', '.join(text for text in texts if text)},)"
    return None


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
        self.distributions: set[Distribution] = set()
        self.modules: dict[str, None] = {}
        self._pending: deque[FunctionType | type] = deque()
        self._seen: dict[int, object] = {}
        self._entered: set[tuple[int, int]] = set()

    def follow(self, value: object, names: tuple[str, ...] = ()) -> None:
        """Note what installed code there is in value; names: what its user might take of a module."""
        for found in _code_in(value):
            if isinstance(found, ModuleType):
                self._module(found, names)
            elif id(found) not in self._seen:
                self._seen[id(found)] = found
                self._pending.append(found)

    def run(self) -> None:
        """Visit everything that was noted, and what that reaches."""
        while self._pending:
            found = self._pending.popleft()
            name = _home(found)
            if is_library(name) or (owner := owner_of(found)) is None:
                continue
            self.distributions.add(owner)
            self.modules[name] = None
            if isinstance(found, type):
                self._class(found)
            else:
                self._function(found)

    def _function(self, function: FunctionType) -> None:
        names, imports = _names(function.__code__)
        # Many functions may have been made of one code.
        if (id(names), id(function.__globals__)) not in self._entered:
            self._entered.add((id(names), id(function.__globals__)))
            self._namespace(_home(function), function.__globals__, names)
            for module in _imported(function.__globals__.get("__package__"), names) if imports else ():
                self._module(module, names)
        for cell in function.__closure__ or ():
            if cell != _EMPTY:
                self.follow(cell.cell_contents, names)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.follow(default, names)

    def _class(self, cls: type) -> None:
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
                    self.follow(value, names)


def _home(found: FunctionType | type) -> str:
    name = found.__globals__.get("__name__") if isinstance(found, FunctionType) else found.__module__
    return name if isinstance(name, str) else ""


def _code_in(value: object) -> Iterator[FunctionType | type | ModuleType]:
    """Yield the functions, classes and modules that value is or stands for; other objects are not looked into."""
    if of_kind(value, FunctionType) or of_kind(value, type) or of_kind(value, ModuleType):
        yield value
    elif of_kind(value, property):
        yield from (part for part in (value.fget, value.fset, value.fdel) if isinstance(part, FunctionType))
    elif issubclass(type(value), (staticmethod, classmethod, MethodType)):
        yield from _code_in(getattr(value, "__func__", None))
    elif issubclass(type(value), (functools.partial, functools.cached_property)):
        yield from _code_in(getattr(value, "func", None))
    else:
        # A decorator's object: what it stands for is where decorators put it, and nothing is asked of its class.
        state = _state(value) if type(value).__module__ != "builtins" else None
        inner = (state.get("__wrapped__"), state.get("py_func")) if type(state) is dict else ()
        yield from (part for part in inner if isinstance(part, FunctionType))


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


_name_lists: dict[int, tuple[CodeType, tuple[str, ...], bool]] = {}


def _names(code: CodeType) -> tuple[tuple[str, ...], bool]:
    """Return all names in code and the code in it - its globals, attributes and imports - and whether it imports."""
    if id(code) not in _name_lists:
        names = dict.fromkeys(name for nested in with_nested(code) for name in nested.co_names)
        imports = any(_IMPORT in nested.co_code[::2] for nested in with_nested(code))
        _name_lists[id(code)] = (code, tuple(names), imports)
    return _name_lists[id(code)][1:]


_IMPORT = opcode.opmap["IMPORT_NAME"]
_EMPTY = CellType()
