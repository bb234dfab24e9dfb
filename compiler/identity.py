"""Identity: one very object, as it is. What a fact about an object that was handed out to a compilation compares.

The object is not kept alive by it, if it can be held weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)
# How far an object is looked into, and how much of a container.
_DEPTH = 3
_ITEMS = 1000


class _Unseen(Exception):
    """An object holds what cannot be compared: memory that may change, or too much."""


class Identity:
    """An object with its contents as they are now: equal to another Identity of the same object, if those are equal."""

    __slots__ = ("_identity", "_object", "_state")

    def __init__(self, value: object) -> None:
        self._identity = id(value)
        self._state = _state(value, _DEPTH)
        self._object: Any
        try:
            self._object = weakref.ref(value)
        except TypeError:
            self._object = lambda: value

    @classmethod
    def of(cls, value: object) -> Identity | None:
        """Return the identity of value, or None if what it holds cannot be compared later."""
        try:
            return cls(value)
        except Exception:  # an object's attributes may run any code
            return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity) or self._identity != other._identity:
            return False
        return self._object() is other._object() and bool(self._state == other._state)

    def __hash__(self) -> int:
        return self._identity

    def __repr__(self) -> str:
        return "the very object"


def _state(value: object, depth: int) -> Any:
    """Return what tells an object's contents from other contents; raises _Unseen if nothing does."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, dict | list | tuple | set | frozenset) and len(value) > _ITEMS:
        raise _Unseen
    if isinstance(value, dict):
        return kind, [(_state(key, depth), _state(item, depth)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return kind, [_state(item, depth) for item in value]
    if isinstance(value, set | frozenset):
        return kind, frozenset((type(item), item) for item in value)
    if isinstance(value, _CODE):
        return kind, id(value)
    if _is_memory_of_the_host(value):
        raise _Unseen
    if depth == 0 or hasattr(value, "__cuda_array_interface__"):
        return kind, id(value)
    return kind, id(value), [(name, _state(item, depth - 1)) for name, item in _attributes(value)]


def _is_memory_of_the_host(value: object) -> bool:
    """Return whether there are numbers in value that a compilation can read: they change, and nothing tells."""
    if hasattr(value, "__cuda_array_interface__"):
        return False
    return any(hasattr(value, name) for name in ("__array_interface__", "__array__", "__dlpack__", "__buffer__"))


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from list(getattr(value, "__dict__", {}).items())
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)
