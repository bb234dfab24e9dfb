"""Identity: one very object, as it is. What a fact about an object that was handed out to a compilation compares.

The object is not kept alive by it, if it can be held weakly.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

_PLAIN = frozenset({type(None), bool, int, str, bytes})
_CONTAINERS = (dict, list, tuple, set, frozenset)
_CONSTANT = (int, float, complex, str, bytes)
# CPython's Py_TPFLAGS_HEAPTYPE: attributes of other classes cannot be set.
_MADE_WHILE_RUNNING = 1 << 9
_POINTER = struct.calcsize("P")
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
    if type(value) is float or type(value) is complex:
        return kind, struct.pack("<2d", value.real, value.imag)
    if isinstance(value, _CONTAINERS):
        return kind, _items(value, depth), _own(value, depth)
    if isinstance(value, type):
        return kind, id(value), _named(vars(value))
    if isinstance(value, ModuleType):
        return kind, id(value), _named(vars(value))
    if isinstance(value, FunctionType):
        return kind, id(value), _function(value, depth)
    if kind is BuiltinFunctionType and isinstance(value.__self__, ModuleType | None):  # type: ignore[attr-defined]
        return kind, id(value)
    if hasattr(value, "__cuda_array_interface__") or kind.__module__ == "numpy.dtypes":
        return kind, id(value)
    # What a number or a text is does not change.
    if not isinstance(value, _CONSTANT) and (_is_memory_of_the_host(value) or _has_hidden_state(kind)):
        raise _Unseen
    classes = [_named(vars(base)) for base in kind.__mro__ if base.__flags__ & _MADE_WHILE_RUNNING]
    return kind, id(value), classes, _own(value, depth)


def _own(value: object, depth: int) -> Any:
    """Return the state of an object's attributes, as far as it is looked into."""
    return [(name, _state(item, depth - 1)) for name, item in _attributes(value)] if depth else []


def _items(value: Any, depth: int) -> Any:
    if len(value) > _ITEMS:
        raise _Unseen
    if isinstance(value, dict):
        return [(_state(key, depth), _state(item, depth)) for key, item in value.items()]
    found = [_state(item, depth) for item in value]
    return sorted(map(repr, found)) if isinstance(value, set | frozenset) else found


def _named(names: Mapping[str, object]) -> list[Any]:
    """Return the plain values of a class or a module, by name; of everything else there, which object it is."""
    return [(name, _state(item, 0) if _is_plain(item) else id(item)) for name, item in list(names.items())]


def _is_plain(value: object) -> bool:
    return type(value) in _PLAIN or type(value) in (float, complex)


def _function(function: FunctionType, depth: int) -> Any:
    """Return what a function does by itself: code, defaults, what its closure holds, attributes."""
    if depth == 0:
        return id(function.__code__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = (function.__defaults__, function.__kwdefaults__, cells, vars(function))
    return id(function.__code__), [_state(item, depth - 1) for item in held]


def _has_hidden_state(kind: type) -> bool:
    """Return whether objects of a class hold more than attributes: memory that only code in C knows."""
    slots = sum(type(item) is MemberDescriptorType for base in kind.__mro__ for item in vars(base).values())
    seen = slots + bool(kind.__dictoffset__) + bool(kind.__weakrefoffset__)
    return kind.__basicsize__ > object.__basicsize__ + seen * _POINTER or bool(kind.__itemsize__)


def _is_memory_of_the_host(value: object) -> bool:
    """Return whether there are numbers in value that a compilation can read: they change, and nothing tells."""
    if any(hasattr(value, name) for name in ("__array_interface__", "__array__", "__dlpack__")):
        return True
    try:
        memoryview(value).release()  # type: ignore[arg-type]
    except (TypeError, BufferError):
        return False
    return True


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    yield from list(getattr(value, "__dict__", {}).items())
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)
