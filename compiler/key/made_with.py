"""Values that installed code made its registrations with, which distinguish a library's registrations.

`make_reduce(op, shape)` registers an overload whose closure holds op and shape, at any depth of the library's own
functions, classes and objects. Such values count. An attribute of one of the library's modules counts by its name and
not by its state. Locks, counters, and tables that the library's code writes to do not count.
"""

from __future__ import annotations

import enum
import functools
import io
import itertools
import operator
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

from gridjit.base.values import dataclass
from gridjit.compiler.key.installed import generator_of, installed_modules, owner_of
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.source.code import CodeTable, plan_of, with_nested
from gridjit.compiler.source.libraries import in_loaded, is_library, is_librarys, name_of_module
from gridjit.compiler.source.objects import closure_of, type_name
from gridjit.compiler.source.scalars import scalar_text

if TYPE_CHECKING:
    import dis

# A name, and the value that goes by it.
_Named = tuple[str, object]

_DEEPEST = 64
# Modules whose objects say nothing about code.
_OF_NO_MATTER = frozenset({"_thread", "threading", "tempfile", "weakref", "_weakref", "logging"})
_STORES = frozenset(("append", "extend", "insert", "pop", "popitem", "clear", "update", "setdefault", "add", "remove"))
_WRITES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR"})


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledObject:
    """Something that is an attribute of a module of installed code, by the names of both."""

    module: str
    name: str


def made_with(found: Registration) -> list[_Named]:
    """Return the values in a registration's functions by name; InstalledObject for attributes of libraries' modules."""
    return held_by(*found.sources)


def held_by(*sources: object) -> list[_Named]:
    """Return the values in functions and classes, at any depth of installed code; see made_with."""
    walk = _Holdings()
    for source in sources:
        walk.source(source)
    return walk.values


def settled_text(value: object) -> str | None:
    """Return the text of an immutable value; None for others.

    Immutable are a number, a text, an attribute of installed code by its name, a function or class of installed code,
    a member of an enum of installed code. Code counts by its name, as its distribution's identity covers its content.
    """
    if isinstance(value, FunctionType | type):
        return _code_text(value) if is_known(value) else None
    if type(value) is BuiltinFunctionType and _is_found(value):
        return f"function {value.__module__}.{value.__qualname__}"
    if isinstance(value, enum.Enum) and is_known(type(value)):
        return f"{type_name(type(value))} {value._name_} {scalar_text(value._value_)}"
    if type(value) is CodeType:
        return f"code {plan_of(value).digest}"
    return f"{value.module}.{value.name}" if type(value) is InstalledObject else scalar_text(value)


def is_of_no_matter(kind: type) -> bool:
    """Return whether objects of a class say nothing about code: locks, open files, counters."""
    return kind.__module__ in _OF_NO_MATTER or kind in (itertools.count, io.FileIO, io.BufferedRandom, io.TextIOWrapper)


class _Holdings:
    """One visit of the values in functions."""

    def __init__(self) -> None:
        self.values: list[_Named] = []
        self._seen: dict[int, object] = {}

    def source(self, source: object) -> None:
        """Visit a function, or a class and its methods."""
        if isinstance(source, FunctionType):
            if generator_of(source) is not None:
                self.values.append(("code", source))
            self._function(source, _DEEPEST)
        elif isinstance(source, type):
            self._class(source, _DEEPEST)
        elif isinstance(source, functools.partial | MethodType):
            self._value("function", source, _DEEPEST)

    def _function(self, function: FunctionType, depth: int) -> None:
        if not depth or self._is_seen(function):
            return
        written = _written_names(function)
        for name, value in directly_held(function):
            if name not in written:
                self._value(name, value, depth - 1)

    def _class(self, cls: type, depth: int) -> None:
        if not depth or self._is_seen(cls):
            return
        # Made by a function, as register(tile=8) does: another call makes another class of the same code.
        made = is_made(cls)
        for name, value in tuple(vars(cls).items()):
            methods = _methods_in(value)
            for method in methods:
                self._function(method, depth)
            if made and not methods and not name.startswith("__"):
                self._value(name, value, depth - 1)

    def _is_seen(self, found: object) -> bool:
        known = id(found) in self._seen
        self._seen[id(found)] = found
        return known

    def _value(self, name: str, value: object, depth: int) -> None:
        kind = type(value)
        if isinstance(value, ModuleType) or is_of_no_matter(kind):
            return
        if isinstance(value, FunctionType) and is_known(value):
            self.values.append((name, value))
            self._function(value, depth)
        elif isinstance(value, type) and is_known(value):
            self.values.append((name, value))
            if is_made(value):
                self._class(value, depth)
        elif kind is MethodType and is_known(value.__func__):  # type: ignore[attr-defined]
            self._value(f"{name}.__func__", value.__func__, depth)  # type: ignore[attr-defined]
            self._value(f"{name}.__self__", value.__self__, depth)  # type: ignore[attr-defined]
        elif kind is functools.partial:
            self._value(f"{name}.func", value.func, depth)  # type: ignore[attr-defined]
            self._value(f"{name} arguments", value.args, depth)  # type: ignore[attr-defined]
            for keyword, item in value.keywords.items():  # type: ignore[attr-defined]
                self._value(f"{name} {keyword}", item, depth)
        elif type(value) is tuple:
            for number, item in enumerate(value):
                self._value(f"{name}[{number}]", item, depth)
        else:
            self.values.append((name, value if scalar_text(value) is not None else _attribute_of(value) or value))


def directly_held(function: FunctionType) -> Iterator[_Named]:
    """Yield a function's values by name: closure, defaults, and the namespace of a generated function."""
    yield from closure_of(function).items()
    yield from ((f"default {number}", value) for number, value in enumerate(function.__defaults__ or ()))
    yield from (function.__kwdefaults__ or {}).items()
    if generator_of(function) is not None:
        yield from ((name, value) for name, value in function.__globals__.items() if name != "__builtins__")


# By code, which many functions may share: a library that registers in a loop makes all with the same code.
_written: CodeTable[frozenset[str]] = CodeTable()


def _written_names(function: FunctionType) -> frozenset[str]:
    """Return the variables of a closure that the code writes into: tables and notes of its own."""
    if not function.__closure__ and not function.__kwdefaults__:
        return frozenset()
    code = function.__code__
    if (known := _written.get(code)) is not None:
        return known
    noted = {one.name for one in plan_of(code).references if one.free and set(one.attributes[:1]) & _STORES}
    return _written.put(code, frozenset(noted.union(*map(_stored_into, with_nested(code)))))


def _stored_into(code: CodeType) -> set[str]:
    """Return the names whose items code stores or deletes: table in `table[key][0] = x`."""
    if not code.co_freevars:
        return set()
    import dis

    if not any(dis.opname[operation] in _WRITES for operation in code.co_code[::2]):
        return set()
    listed = list(dis.get_instructions(code))
    roots = (
        _begin_of(listed, _begin_of(listed, position) or 0)
        for position, one in enumerate(listed)
        if one.opname in _WRITES
    )
    return {listed[root].argval for root in roots if root is not None and listed[root].argval in code.co_freevars}


def _begin_of(listed: list[dis.Instruction], end: int) -> int | None:
    """Return where the instructions begin that leave one value on the stack, and end before end; None if unclear."""
    import dis

    left = 0
    for position in range(end - 1, -1, -1):
        one = listed[position]
        left += dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if left >= 1:
            return position if left == 1 else None
    return None


def is_a_librarys_object(value: object) -> bool:
    """Return whether a value is an object of installed code's, which counts as it is when it is first seen."""
    return not isinstance(value, type | FunctionType) and type(value).__module__ != "builtins" and is_known(type(value))


def is_made(found: FunctionType | type) -> bool:
    """Return whether a call made a function or class: its module has another under that name, or none."""
    value: object = sys.modules.get(found.__module__)
    for name in found.__qualname__.split("."):
        value = getattr(value, "__dict__", {}).get(name)
    return value is not found and getattr(value, "__func__", None) is not found


def _code_text(value: FunctionType | type) -> str:
    if isinstance(value, type):
        return f"class {type_name(value)}"
    return f"function {value.__module__}.{value.__qualname__} {plan_of(value.__code__).digest}"


def _is_found(value: BuiltinFunctionType) -> bool:
    """Return whether a function of C code is a library's, or of installed code, and is found under its name."""
    module = value.__module__ or ""
    is_known = is_library(module) or module == "builtins" or owner_of(value) is not None
    return is_known and in_loaded(module, value.__qualname__) is value


def is_known(found: FunctionType | type) -> bool:
    """Return whether a function or a class is a library's, or of installed code."""
    if isinstance(found, type):
        return is_librarys(found) or owner_of(found) is not None
    name = str(found.__globals__.get("__name__"))
    return is_library(name) or name == "builtins" or (owner_of(found) or generator_of(found)) is not None


def _attribute_of(value: object) -> InstalledObject | None:
    """Return which attribute of an installed module a value is, which makes it that library's own; None for others."""
    owner = type(value)
    if isinstance(value, type | FunctionType | tuple | enum.Enum):
        return None
    if not is_known(owner) and owner.__module__ != "builtins":
        return None
    holding = [one for one in installed_modules() if _holds(one, value)]
    names = [(name_of_module(one), name) for one in holding for name, item in [*vars(one).items()] if item is value]
    return InstalledObject(module=min(names)[0], name=min(names)[1]) if names else None


def _methods_in(value: object) -> list[FunctionType]:
    """Return the functions that an attribute of a class is, or was made of."""
    found: list[object] = [value]
    if isinstance(value, property):
        found = [value.fget, value.fset, value.fdel]
    elif isinstance(value, staticmethod | classmethod):
        found = [value.__func__]
    return [one for one in found if isinstance(one, FunctionType)]


def _holds(module: ModuleType, value: object) -> bool:
    """Return whether a value is an attribute of a module; found without Python code, as there are many."""
    return any(map(operator.is_, [*vars(module).values()], itertools.repeat(value)))
