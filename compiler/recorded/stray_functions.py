"""StrayFunctions: the user's functions that a compile compiled although the kernel does not lead to them.

A library that keeps functions in tables hands them to the compiler, and only the front end sees them. A function that
a fingerprint in the key covers needs nothing more. Another is recorded by all its places in installed modules, with
the values that it took from its closure and its globals. A function without a place keeps the artifact private.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.key.installed import installed_modules, owner_of
from gridjit.compiler.recorded.value_path import ValuePath
from gridjit.compiler.source.code import with_nested
from gridjit.compiler.source.libraries import is_library, name_of_module
from gridjit.compiler.source.objects import function_of, state_of
from gridjit.compiler.source.scalars import scalar_text

# How deep into a module's tables a function is looked for, and how many values are looked at.
_DEEPEST = 4
_MOST_VALUES = 50_000
# A value that a function's code took, with the step that leads to it: ("free f", value).
Taken = tuple[str, object]


class StrayFunctions:
    """One compile's stray functions, each with the values that it took."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[FunctionType, list[Taken]]] = {}

    def add(self, function: FunctionType) -> None:
        """Note that function was compiled."""
        self._found.setdefault(id(function), (function, []))

    def take(self, function: FunctionType, step: str, value: object) -> bool:
        """Note a value that a function's code took; return whether the function is a stray one."""
        if (found := self._found.get(id(function))) is not None:
            found[1].append((step, value))
        return found is not None

    def uncovered(self, covered: Iterable[FunctionType]) -> Iterator[tuple[FunctionType, list[Taken]]]:
        """Yield the functions that a key neither covers nor leads to, each with the values that it took."""
        covered = tuple(covered)
        functions = {id(function) for function in covered}
        codes = {id(code) for function in covered for code in with_nested(function.__code__)}
        for function, taken in self._found.values():
            if id(function) not in functions and id(function.__code__) not in codes:
                yield function, taken

    def __bool__(self) -> bool:
        return bool(self._found)


def places_of(function: FunctionType) -> list[tuple[ValuePath, object]]:
    """Return the paths in extensions' modules to a function or an object that wraps it, each with that object."""
    search = _Search(function)
    for module in _of_extensions():
        search.attributes((f"module {name_of_module(module)}",), vars(module), _DEEPEST)
    return search.places


def _of_extensions() -> Iterator[ModuleType]:
    """Yield the modules of distributions that registered something, and installed modules that these refer to."""
    owners = {one.owner for one in all_registrations()}
    installed = [one for one in installed_modules() if sys.modules.get(name_of_module(one)) is one]
    own = [module for module in installed if owner_of(module) in owners]
    used = {id(value) for module in own for value in vars(module).values() if isinstance(value, ModuleType)}
    yield from own
    yield from (module for module in installed if id(module) in used and module not in own)


class _Search:
    """One look through the tables of modules."""

    def __init__(self, function: FunctionType) -> None:
        self.places: list[tuple[ValuePath, object]] = []
        self._function = function
        self._left = _MOST_VALUES

    def attributes(self, path: ValuePath, held: dict[str, Any], depth: int) -> None:
        for name, value in tuple(held.items()):
            self._value((*path, f"attribute {name}"), value, depth)

    def _value(self, path: ValuePath, value: Any, depth: int) -> None:
        self._left -= 1
        if self._left < 0 or not depth or scalar_text(value) is not None or isinstance(value, ModuleType):
            return
        if isinstance(value, dict):
            for number, (key, item) in enumerate(tuple(value.items())):
                step = f"key {key}" if type(key) is str else f"item {number}"
                self._value((*path, step), item, depth - 1)
        elif isinstance(value, list | tuple):
            for number, item in enumerate(tuple(value)):
                self._value((*path, f"item {number}"), item, depth - 1)
        elif _stands_for(value, self._function):
            self.places.append((path, value))
        elif isinstance(value, type) or not is_library(type(value).__module__):
            self.attributes(path, dict(vars(value)) if isinstance(value, type) else state_of(value), depth - 1)


def _stands_for(value: object, function: FunctionType) -> bool:
    if isinstance(value, type):
        return False
    try:
        return function_of(value) is function
    except Exception as error:  # looking at a value runs code of its class
        let_through(error)
        return False


def dotted_name(function: Callable[..., object]) -> str:
    """Return a function's name as people know it, with its module."""
    return f"{function.__module__}.{function.__qualname__}"
