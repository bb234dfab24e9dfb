"""Texts of objects of installed classes that a kernel, or the user's code, refers to.

The distribution stands for the class and its code. Objects differ by their plain state, at any depth, and by what was
registered with numba-cuda for the very object: a library's `sum = make_sum(int32, 128)` keeps the 128 in the closure of
an overload. Locks, files, counters and the like do not matter and are passed over. Anything else that cannot be seen
raises OpaqueValue.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from gridjit.base.digests import utf8
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.key.made_with import directly_held, is_known, is_made, is_of_no_matter
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.key.registrations import made_by_a_compile, registrations
from gridjit.compiler.key.values import Visit, value_text
from gridjit.compiler.source.code import digest_fields, plan_of
from gridjit.compiler.source.files import file_digest
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.source.objects import attributes_of, type_name
from gridjit.compiler.source.scalars import scalar_text

_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)
_MAPPINGS = (dict, OrderedDict, defaultdict, MappingProxyType)
_DEEPEST = 32
_TEMPORARY = os.path.join(tempfile.gettempdir(), "")
# Classes of these modules hold nothing.
_BARE = ("abc", "typing")


def instance_text(value: object, visit: Visit) -> str | None:
    """Return the text of an object of an installed class; None for any other object. Raises OpaqueValue."""
    owner = None if is_library(type(value).__module__) else owner_of(type(value))
    if owner is None or owner.overtaken or not _is_whole(type(value)):
        return None
    state = _State(visit)
    texts = [state.text(value), *sorted(map(state.registered, _registered_for(value)))]
    return f"{type_name(type(value))} object of {owner.identity} {digest_fields(utf8(text) for text in texts)}"


def _is_whole(cls: type) -> bool:
    """Return whether a class's objects keep all that they hold where Python keeps it: no base is another library's."""
    *bases, _ = cls.__mro__
    return all(base.__module__ in _BARE or owner_of(base) is not None for base in bases)


def _registered_for(value: object) -> list[Registration]:
    return [one for one in _registered() if any(mention is value for mention in one.mentions)]


def registered_texts(cls: type, visit: Visit) -> list[str]:
    """Return the texts of the registrations for a class or for objects of it; raises OpaqueValue."""
    state = _State(visit)
    found = [one for one in _registered() if any(mention is cls or type(mention) is cls for mention in one.mentions)]
    return sorted(map(state.registered, found))


def _registered() -> list[Registration]:
    """Return the registrations, less those made by loading and compiling: a process that finds kernels has none."""
    return [one for one in registrations() if not made_by_a_compile(one)]


class _State:
    """One visit of an object's state; an object met again is named by its number."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._seen: dict[int, tuple[int, object]] = {}

    def registered(self, found: Registration) -> str:
        return self._all((found.kind, *found.sources))

    def text(self, value: Any, depth: int = _DEEPEST) -> str:
        if type(value) is str and value.startswith(_TEMPORARY) and (digest := file_digest(value)) is not None:
            return f"file {digest}"  # a temporary one has another name in each process
        if (text := scalar_text(value)) is not None:
            return text
        if id(value) in self._seen or not depth:
            return f"number {self._seen[id(value)][0]}" if depth else "deep"
        self._seen[id(value)] = (len(self._seen), value)
        return self._composed(value, depth - 1)

    def _composed(self, value: Any, depth: int) -> str:
        kind = type(value)
        if kind in _SEQUENCES:
            return f"{kind.__name__}({self._all(value, depth)})"
        if kind in _SETS:
            return f"set({', '.join(sorted(self.text(item, depth) for item in value))})"
        if kind in _MAPPINGS:
            return f"dict({self._all((part for pair in value.items() for part in pair), depth)})"
        if issubclass(kind, FunctionType):
            return self._function(value, depth)
        if kind is MethodType:
            return f"method {self.text(value.__func__, depth)} of {self.text(value.__self__, depth)}"
        if kind is functools.partial:
            return f"partial({self._all((value.func, value.args, value.keywords), depth)})"
        if is_of_no_matter(kind):
            return f"a {type_name(kind)}"
        if issubclass(kind, type | ModuleType) or is_library(kind.__module__) or not _is_whole(kind):
            return self._plain(value)
        return f"{self._class(kind)}({self._all(attributes_of(value), depth)})"

    def _class(self, cls: type) -> str:
        """Return the text of an installed class: its name, and the values it was made with if a call made it."""
        return f"{type_name(cls)} {self._visit(cls)}" if is_made(cls) else type_name(cls)

    def _plain(self, value: Any) -> str:
        """Return the text of a value that is not an object of an installed class; an installed class has its name."""
        if isinstance(value, type) and owner_of(value) is not None:
            return f"class {self._class(value)}"
        return value_text(value, self._visit)

    def _function(self, function: FunctionType, depth: int) -> str:
        if not is_known(function):
            return f"function {self._visit(function)}"
        held = self._all((value for _, value in directly_held(function) if value is not function), depth)
        return f"{function.__qualname__} {plan_of(function.__code__).digest}({held})"

    def _all(self, values: Iterable[object], depth: int = _DEEPEST) -> str:
        return ", ".join([self.text(value, depth) for value in values])
