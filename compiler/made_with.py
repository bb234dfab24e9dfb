"""What installed code was given when it registered something: it tells one registration of a library from another.

`make_reduce(op, shape)` registers an overload whose closure holds op and shape, at any depth of the library's own
functions and objects. Those count by what they are; the state of the library itself - what is an attribute of its
modules, locks, counters, tables that its code writes to - does not.
"""

from __future__ import annotations

import enum
import functools
import io
import itertools
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, MethodType, ModuleType

from gridjit.compiler.frontend.registrations import Registration
from gridjit.compiler.installed import installed_modules, owner_of
from gridjit.compiler.source_code import plan_of, with_nested
from gridjit.compiler.source_library import is_library
from gridjit.compiler.source_scalar import scalar_text

# A name, and the value that goes by it.
Named = tuple[str, object]

_DEEPEST = 6
_EMPTY = CellType()
# Modules whose objects say nothing about code.
_OF_NO_MATTER = frozenset({"_thread", "threading", "tempfile", "weakref", "_weakref", "logging"})
_STORES = frozenset(("append", "extend", "insert", "pop", "popitem", "clear", "update", "setdefault", "add", "remove"))
_WRITES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR"})


def made_with(found: Registration) -> list[Named]:
    """Return what the functions of a registration hold that its library did not make for itself."""
    walk = _Holdings()
    for function in functions_of(found):
        walk.function(function, _DEEPEST)
    for source in found.sources:
        if isinstance(source, type) and "<locals>" in source.__qualname__:
            # Made by a function, as register(tile=8) does: another call makes another class of the same code.
            walk.attributes(source)
    return walk.values


def functions_of(found: Registration) -> Iterator[FunctionType]:
    """Yield the functions that a registration consists of; of a class, its methods."""
    for source in found.sources:
        if isinstance(source, FunctionType):
            yield source
        elif isinstance(source, type):
            yield from (part for part in vars(source).values() if isinstance(part, FunctionType))


def is_settled(value: object) -> bool:
    """Return whether a value stays what it is: a number, a text, a type, a member of an enum, a tuple of those."""
    if type(value) is tuple:
        return all(map(is_settled, value))
    if isinstance(value, type):
        return _is_known(value)
    return scalar_text(value) is not None or (isinstance(value, enum.Enum) and _is_known(type(value)))


def is_of_no_matter(kind: type) -> bool:
    """Return whether objects of a class say nothing about code: who waits, what is open, how far something counted."""
    return kind.__module__ in _OF_NO_MATTER or kind in (itertools.count, io.FileIO, io.BufferedRandom, io.TextIOWrapper)


class _Holdings:
    """One visit of what functions hold."""

    def __init__(self) -> None:
        self.values: list[Named] = []
        self._seen: dict[int, object] = {}

    def function(self, function: FunctionType, depth: int) -> None:
        if id(function) in self._seen or not depth:
            return
        self._seen[id(function)] = function
        written = _written_names(function)
        for name, value in _held_by(function):
            if name not in written:
                self._value(name, value, depth - 1)

    def attributes(self, cls: type) -> None:
        for name, value in tuple(vars(cls).items()):
            if not name.startswith("__") and not isinstance(
                value, FunctionType | property | staticmethod | classmethod
            ):
                self._value(name, value, _DEEPEST)

    def _value(self, name: str, value: object, depth: int) -> None:
        kind = type(value)
        if isinstance(value, ModuleType) or is_of_no_matter(kind):
            return
        if isinstance(value, FunctionType) and _is_known(value):
            self.function(value, depth)
        elif kind is MethodType and _is_known(value.__func__):  # type: ignore[attr-defined]
            self._value(f"{name}.__func__", value.__func__, depth)  # type: ignore[attr-defined]
            self._value(f"{name}.__self__", value.__self__, depth)  # type: ignore[attr-defined]
        elif kind is functools.partial:
            self._value(f"{name}.func", value.func, depth)  # type: ignore[attr-defined]
            self.values.append((f"{name} arguments", (value.args, value.keywords)))  # type: ignore[attr-defined]
        elif scalar_text(value) is not None or not _is_the_librarys(value):
            self.values.append((name, value))


def _held_by(function: FunctionType) -> Iterator[Named]:
    for number, name in enumerate(function.__code__.co_freevars):
        cell = (function.__closure__ or ())[number]
        if cell != _EMPTY:
            yield name, cell.cell_contents
    yield from ((f"default {number}", value) for number, value in enumerate(function.__defaults__ or ()))
    yield from (function.__kwdefaults__ or {}).items()


def _written_names(function: FunctionType) -> frozenset[str]:
    """Return the variables of a closure that the code writes into: tables and notes of its own."""
    import dis

    plan = plan_of(function.__code__)
    noted = {one.name for one in plan.references if one.free and set(one.attributes[:1]) & _STORES}
    writes = any(i.opname in _WRITES for code in with_nested(function.__code__) for i in dis.get_instructions(code))
    tables = {name for name, value in _held_by(function) if isinstance(value, dict | list | set)} if writes else set()
    return frozenset(noted | tables)


def is_a_librarys_object(value: object) -> bool:
    """Return whether a value is an object of installed code's, which counts as it is when it is first seen."""
    return (
        not isinstance(value, type | FunctionType) and type(value).__module__ != "builtins" and _is_known(type(value))
    )


def _is_known(found: FunctionType | type) -> bool:
    """Return whether a function or a class is a library's, or of installed code."""
    name = found.__globals__.get("__name__") if isinstance(found, FunctionType) else found.__module__
    return is_library(str(name)) or name == "builtins" or owner_of(found) is not None


def _is_the_librarys(value: object) -> bool:
    """Return whether a value is an attribute of a module of installed code, and so that library's own state."""
    owner = type(value)
    if isinstance(value, type | tuple | enum.Enum) or (not _is_known(owner) and owner.__module__ != "builtins"):
        return False
    return any(item is value for module in _installed_modules() for item in module)


def _installed_modules() -> Iterator[Iterable[object]]:
    for module in installed_modules():
        yield tuple(vars(module).values())
