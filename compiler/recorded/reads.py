"""Reads: the Python values that a kernel's code took while it was compiled, each with its path and its value then.

The job's key says where to look for an artifact. Each value is recorded here, at the moment it is taken, and must be
the same wherever the artifact is used. Values that the key covers, because they are the very objects seen when the job
was made, are not recorded again. This file does not know numba: the front end reports each value its compiler takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from types import CellType, FunctionType, ModuleType
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.fingerprint import fingerprint_values
from gridjit.compiler.key.foreign import array_digest
from gridjit.compiler.key.values import InstalledTexts, Visit, value_text
from gridjit.compiler.key.walk import registered_alike
from gridjit.compiler.recorded.stray_functions import StrayFunctions, dotted_name, places_of
from gridjit.compiler.recorded.value_path import ValuePath, follow, same_as, shown
from gridjit.compiler.source.code import lines_digest, plan_of
from gridjit.compiler.source.libraries import (
    home_of,
    is_library,
    is_librarys,
    is_namespace_of,
    is_own_builtin,
    name_of_module,
)
from gridjit.compiler.source.objects import MISSING, OpaqueValue, defaults_of, function_of
from gridjit.compiler.source.scalars import scalar_text

# Values that the walk over a job's source saw: (id of a namespace or a cell, name) -> the value, its text in the key.
_Known = Mapping[tuple[int, str], tuple[object, str]]
# How deep containers are searched for modules and functions.
_DEPTH = 4
_MOST_ITEMS = 1000
# Steps to values that are in the text of their holder, too.
_WITHIN = frozenset({"item", "key", "function", "default", "namespace"})


class Reads:
    """One compile's record of the values that kernel and device code took.

    function: the kernel's. known: values that its job's key covers; covered: functions that it covers; objects: of
    installed classes in it, with their texts. lines: count line numbers of functions too. is_leaf: whether a module's
    code is identified as a whole, so that only its plain settings count.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        known: _Known | None = None,
        *,
        lines: bool = False,
        is_leaf: Callable[[str], bool] = is_library,
        covered: Iterable[FunctionType] = (),
        objects: InstalledTexts | None = None,
    ) -> None:
        self.private: dict[str, None] = {}
        # All values that code took from Python, and the functions that were compiled, by identity.
        self.met: dict[int, object] = {}
        self._covered = tuple(covered)
        self._stray = StrayFunctions()
        self._known: _Known = known or {}
        self._lines = lines
        self._objects = objects or {}
        self._is_leaf = is_leaf
        self._taken: dict[ValuePath, tuple[object, str]] = {}
        self._attributes: dict[tuple[int, str], object] = {}
        # By identity: where modules and classes, functions, and the namespaces of functions were found.
        self._owners: dict[int, ValuePath] = {}
        self._functions: dict[int, ValuePath] = {}
        self._scopes: dict[int, ValuePath] = {}
        self._arrays: dict[int, tuple[ValuePath, str]] = {}
        # Paths of which the key says where they lead.
        self._keyed: set[ValuePath] = set()
        # Keeps alive all that is known by its identity.
        self._alive: list[object] = []
        if (root := function_of(function)) is not None:
            self._adopt_function((), root)

    def take_function(self, function: FunctionType) -> None:
        """Record that a function is compiled. Functions that the kernel leads to are known already."""
        self.met[id(function)] = function
        home = home_of(function)
        is_leaf = self._is_leaf(home) and is_namespace_of(home, function.__globals__)
        if id(function) not in self._functions and not is_leaf:
            self._stray.add(function)

    def settle_functions(self, covered: Callable[[], Iterable[FunctionType]]) -> None:
        """Record the compiled functions that the kernel does not lead to and no key covers.

        covered: returns the functions that the keys and dependencies of extensions cover.
        """
        if not self._stray or not [*self._stray.uncovered(self._covered)]:
            return
        for function, taken in self._stray.uncovered((*self._covered, *covered())):
            places = places_of(function)
            for path, value in places:
                self._take(path, (0, ""), value)
                for step, one in taken:
                    self._take((*path, "function", step), (0, ""), one)
            if not places:
                reason = "was compiled, and neither the kernel nor a table of an extension leads to it"
                self.private[f"{dotted_name(function)} {reason}"] = None

    def take_global(self, function: FunctionType, name: str, value: object) -> None:
        """Record that the code of function took a global, or a builtin if it has no such global."""
        self.met[id(value)] = value
        scope = function.__globals__
        if name not in scope and is_own_builtin(name, value):
            return
        if self._stray.take(function, f"global {name}", value):
            return
        if (path := self._scopes.get(id(scope))) is not None:
            self._take((*path[:-1], f"global {name}"), (id(scope), name), value)
        elif (module := _module_of(scope)) is not None and not is_library(module):
            self._take_outside((f"module {module}", f"attribute {name}"), (id(scope), name), value)

    def take_free(self, function: FunctionType, name: str, cell: CellType, value: object) -> None:
        """Record that the code of function took a closure's variable, unless a compile made the function."""
        self.met[id(value)] = value
        if (path := self._functions.get(id(function))) is not None:
            self._take((*path, f"free {name}"), (id(cell), ""), value)
        else:
            self._stray.take(function, f"free {name}", value)

    def take_attribute(self, owner: Any, name: str) -> Any:
        """Return an attribute of a module or a class, the same each time in one compile, and record that it was taken.

        Raises AttributeError where there is none.
        """
        key = (id(owner), name)
        if key not in self._attributes:
            self._attributes[key] = value = getattr(owner, name)
            self._alive += (owner, value)
            self._take_of(owner, name, value)
        return self._attributes[key]

    def attribute_now(self, owner: Any, name: str) -> object:
        """Return the attribute that take_attribute would return, and record nothing; MISSING where there is none."""
        key = (id(owner), name)
        return self._attributes[key] if key in self._attributes else getattr(owner, name, MISSING)

    def take_attribute_as(self, owner: Any, name: str, value: object) -> None:
        """Record that an attribute was taken with that value; later requests in this compile get the same value."""
        self._attributes.setdefault((id(owner), name), value)
        self._alive += (owner, value)
        self._take_of(owner, name, value)

    def take_content(self, array: Any, digest: str) -> None:
        """Compare the array content that goes into the code with the recorded digest of the array."""
        path, text = self._arrays.get(id(array), ((), ""))
        if path and text != digest:
            self.private[f"the content of {shown(path)} changed while the kernel was compiled"] = None

    def taken(self) -> Iterator[tuple[ValuePath, str]]:
        """Yield the path and the text of each value that was taken and is not in the key."""
        return ((path, text) for path, (_, text) in self._taken.items())

    def changed(self) -> Iterator[str]:
        """Yield a sentence for each value that has changed: the compile may have seen either."""
        for path, (value, text) in self._taken.items():
            if scalar_text(value) is None and self._text(path, value) != text:
                yield f"{shown(path)} changed while the kernel was compiled"

    def _take_of(self, owner: Any, name: str, value: object) -> None:
        self.met[id(value)] = value
        key = (id(vars(owner)) if isinstance(owner, ModuleType) else id(owner), name)
        named = _named_path(owner)
        leaf = named is not None and is_library(_home(owner))
        self._keyed.update([named] if leaf and named else ())
        path = (None if leaf else self._owners.get(id(owner))) or named
        if path is None:
            self.private[f"{name} of {owner!r} was taken, but no name leads to it"] = None
        elif leaf:
            self._take_outside((*path, f"attribute {name}"), key, value)
        else:
            self._take((*path, f"attribute {name}"), key, value)

    def _take_outside(self, path: ValuePath, key: tuple[int, str], value: object) -> None:
        """Record a value of a module; of a module identified as a whole, only a plain setting or another's value."""
        module = path[0].partition(" ")[2]
        if not self._is_leaf(module) or _is_setting(value) or not self._is_leaf(_home(value)):
            self._take(path, key, value)

    def _take(self, path: ValuePath, key: tuple[int, str], value: object) -> None:
        known = self._known.get(key) if self._is_keyed(path[:-1]) else None
        if is_keyed := known is not None and known[0] is value and self._is_covered(path, *known):
            self._keyed.add(path)
        self._adopt(path, value, _DEPTH)
        text = None if is_keyed else self._text(path, value)
        if text is not None and self._taken.setdefault(path, (value, text))[1] != text:
            self.private[f"{shown(path)} changed while the kernel was compiled"] = None

    def _is_covered(self, path: ValuePath, value: object, text: str) -> bool:
        """Return whether the key's text covers a value, and is still the text of a value that may change."""
        if scalar_text(value) is not None or isinstance(value, type | ModuleType) or _function(value) is not None:
            return True
        return self._text(path, value) == text

    def _text(self, path: ValuePath, value: object) -> str | None:
        """Return the text of a value. If it has none, return None and note why the artifact is private."""
        try:
            text = taken_text(value, lines=self._lines, objects=self._objects)
        except OpaqueValue as error:
            self.private[f"{shown(path)} {error}"] = None
            return None
        return text

    def _note_content(self, path: ValuePath, array: Any) -> None:
        """Remember an array's content as it is taken, also of one inside a container."""
        if id(array) not in self._arrays and not array.dtype.hasobject:
            self._arrays[id(array)] = (path, array_digest(array))
            self._alive.append(array)

    def _adopt(self, path: ValuePath, value: Any, depth: int) -> None:
        """Remember how to get to a module, class or function that was taken, also inside a container."""
        if scalar_text(value) is not None or not depth:
            return
        if isinstance(value, ModuleType | type):
            self._lead(self._owners, value, path)
        elif _is_array(value):
            self._note_content(path, value)
        elif isinstance(value, tuple | list | dict):
            items = value.values() if isinstance(value, dict) else value
            for number, item in zip(range(_MOST_ITEMS), items, strict=False):
                self._adopt((*path, f"item {number}"), item, depth - 1)
        elif (function := _function(value)) is not None:
            self._adopt_function(path if function is value else (*path, "function"), function)

    def _adopt_function(self, path: ValuePath, function: FunctionType) -> None:
        if is_librarys(function) or not self._lead(self._functions, function, path):
            return
        self._lead(self._scopes, function.__globals__, (*path, "namespace"))
        for name, value in defaults_of(function).items():
            self.met[id(value)] = value
            self._adopt((*path, f"default {name}"), value, _DEPTH)

    def _lead(self, table: dict[int, ValuePath], value: object, path: ValuePath) -> bool:
        """Note that a path leads to a value; return whether it is the first, which stands for all others."""
        first = table.setdefault(id(value), path)
        if first is path:
            self._alive.append(value)
        elif first != path and not (self._is_keyed(first) and self._is_keyed(path)):
            self._taken.setdefault((*path, same_as(first)), (True, "True"))
        return first is path

    def _is_keyed(self, path: ValuePath) -> bool:
        while path and path[-1].partition(" ")[0] in _WITHIN:
            path = path[:-1]
        return not path or path in self._keyed


def taken_text(value: object, *, lines: bool = False, objects: InstalledTexts | None = None) -> str:
    """Return a text that is equal for values that make the same code; raises OpaqueValue.

    A function's text covers its own code and defaults; the values that this code takes are recorded separately.
    objects: objects of installed classes whose texts are known.
    """
    if value is MISSING:
        return "undefined"
    return value_text(value, _Visit(lines, objects or {}))


class _Visit(Visit):
    """Names the functions and classes in a value, without following them."""

    def __init__(self, lines: bool, objects: InstalledTexts) -> None:
        self._lines = lines
        self._objects = objects

    def __call__(self, found: FunctionType | type) -> str:
        return _visited(found, self._lines)

    def running(self, what: str, value: object) -> str:
        """Return the digest of code that runs while kernels are compiled; raises OpaqueValue if it hides anything."""
        found = fingerprint_values([(what, value)], running=True)
        if found.opaque:
            raise OpaqueValue(f"has a {what} that cannot be followed: {found.opaque[0]}")
        return found.digest

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        if (known := self._objects.get(id(value))) is not None:
            return known.text
        from gridjit.compiler.key.instances import instance_text

        return instance_text(value, self)


def _visited(found: FunctionType | type, lines: bool) -> str:
    if isinstance(found, type):
        fingerprint = fingerprint_values([("class", found)])
        if fingerprint.opaque:
            raise OpaqueValue(f"leads to what gridjit cannot see: {fingerprint.opaque[0]}")
        return f"{found.__qualname__} {fingerprint.digest}"
    defaults = "".join(f" {name}={taken_text(value)}" for name, value in defaults_of(found).items())
    place = f" {lines_digest(found.__code__)}" if lines else ""
    place += registered_alike().get(id(found), "")
    return f"{found.__qualname__} {plan_of(found.__code__).digest}{place}{defaults}"


def _function(value: object) -> FunctionType | None:
    if isinstance(value, type | ModuleType | tuple | list | dict) or type(value).__module__ == "numpy":
        return None
    try:
        return function_of(value)
    except Exception as error:  # to look at a value may run code of its class
        let_through(error)
        return None


def _is_array(value: object) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "tobytes") and hasattr(value, "flags")


def _is_setting(value: object) -> bool:
    """Return whether a value is a plain setting: a number, a text, None, an enum's member, or a tuple of settings."""
    if isinstance(value, tuple):
        return all(map(_is_setting, value))
    return scalar_text(value) is not None or isinstance(value, Enum)


def _home(value: object) -> str:
    """Return the name of the module that a function or a class is of; of anything else, its class's."""
    if (function := _function(value)) is not None:
        return home_of(function)
    if isinstance(value, ModuleType):
        return name_of_module(value)
    module = getattr(value if isinstance(value, type) or callable(value) else type(value), "__module__", None)
    return module if isinstance(module, str) else "builtins"


def _module_of(scope: Mapping[str, object]) -> str | None:
    """Return the name of the imported module whose namespace this is, None if there is none."""
    module = sys.modules.get(str(scope.get("__name__")))
    return None if module is None or getattr(module, "__dict__", None) is not scope else name_of_module(module)


def _named_path(owner: Any) -> ValuePath | None:
    """Return the path to a module or class by its names, or None if they do not lead to it."""
    if isinstance(owner, ModuleType):
        name = name_of_module(owner)
        return (f"module {name}",) if sys.modules.get(name) is owner else None
    path = (f"module {owner.__module__}", *(f"attribute {name}" for name in owner.__qualname__.split(".")))
    return path if follow(path, None) is owner else None
