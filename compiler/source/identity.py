"""Identity: one object, by identity and content; facts about an object that a compilation was given compare by it.

It compares objects that are known to show everything they hold, and refuses others: memory that C code keeps for itself
may change unseen. An Identity does not keep the object alive if weak references to it are possible.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.source.libraries import is_library, name_of_module
from gridjit.compiler.source.scalars import is_number

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, range, type(...), CodeType})
# Objects of classes derived from these have a value, which no attribute shows.
_VALUES = (int, float, complex, str, bytes)
_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)
# How deep an object is inspected, and how many items of containers.
_DEPTH = 12
_ITEMS = 1000
_WORD = 8


class _Unseen(Exception):
    """An object holds memory that may change unseen, or too much to compare."""


class Identity:
    """An object with its contents as they are now: equal to another Identity of the same object, if those are equal."""

    __slots__ = ("_identity", "_object", "_state")

    def __init__(self, value: object) -> None:
        self._identity = id(value)
        self._state = _Contents().of(value, _DEPTH)
        self._object: Any
        try:
            self._object = weakref.ref(value)
        except TypeError:
            self._object = lambda: value

    @classmethod
    def of(cls, value: object) -> Identity | None:
        """Return the identity of value, or None if its contents cannot be compared later."""
        try:
            return cls(value)
        except Exception as error:  # an object's attributes may run any code
            let_through(error)
            return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity) or self._identity != other._identity:
            return False
        return self._object() is other._object() and bool(self._state == other._state)

    def __hash__(self) -> int:
        return self._identity

    def __repr__(self) -> str:
        return "the very object"


class _Contents:
    """One visit of an object's contents; an object met again is named by its identity."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, value: object, depth: int) -> Any:
        """Return a value that is equal for equal contents; raises _Unseen if there is none."""
        kind = type(value)
        if is_number(value):
            return kind, repr(value)
        if kind in _PLAIN:
            return kind, value
        if isinstance(value, type | ModuleType):
            return kind, id(value), _names_in(value)
        if _is_code(value) or hasattr(value, "__cuda_array_interface__"):
            return kind, id(value)
        if id(value) in self._seen:
            return kind, id(value)
        if depth == 0 or len(self._seen) >= _ITEMS:
            raise _Unseen
        self._seen.add(id(value))
        return kind, id(value), _names_in(kind), [*self._items(value, depth - 1)]

    def _items(self, value: Any, depth: int) -> Iterator[Any]:
        """Yield values that cover all of an object's contents."""
        base = _container(value)
        if base in _VALUES:
            yield base.__repr__(value)
        elif base is not object and len(value) > _ITEMS:
            raise _Unseen
        elif base is dict:
            yield from ((self.of(key, depth), self.of(item, depth)) for key, item in dict.items(value))
        elif base in _SEQUENCES:
            yield from (self.of(item, depth) for item in base.__iter__(value))
        elif base in _SETS:
            yield frozenset((type(item), self._of_sets(item, depth)) for item in base.__iter__(value))
        if type(value) is not base:
            yield from ((name, self.of(item, depth)) for name, item in _attributes(value, base))

    def _of_sets(self, item: object, depth: int) -> object:
        if type(item) not in _PLAIN:
            raise _Unseen
        return item


def _container(value: object) -> Any:
    return next((base for base in (dict, *_SEQUENCES, *_SETS, *_VALUES) if isinstance(value, base)), object)


def _names_in(value: type | ModuleType) -> list[Any]:
    """Return the plain values of a class or a module of the user's, by name; of the rest there, which object it is."""
    bases = value.__mro__ if isinstance(value, type) else (value,)
    names = [vars(base) for base in bases if not is_library(_module_of(base))]
    return [(name, _plain_or_id(item)) for found in names for name, item in [*found.items()]]


def _module_of(value: type | ModuleType) -> str:
    return str(value.__module__) if isinstance(value, type) else name_of_module(value)


def _plain_or_id(value: object) -> Any:
    if type(value) in _PLAIN:
        return type(value), repr(value) if is_number(value) else value
    return id(value)


def _is_code(value: Any) -> bool:
    """Return whether value counts by identity alone: code, a lock, or a library's object that never changes."""
    kind = type(value)
    if kind.__module__ == "_thread":
        return True
    if kind is BuiltinFunctionType:
        return value.__self__ is None or isinstance(value.__self__, ModuleType | type)
    return kind.__module__.startswith(_OF_CODE) or any(
        (base.__module__, base.__name__) in _OF_NUMPY for base in kind.__mro__
    )


_OF_CODE = ("numba.core.types", "numba.cuda.types", "numba.cuda.dispatcher", "gridjit.")
_OF_NUMPY = (("numpy", "dtype"), ("numpy", "ufunc"))


def _attributes(value: Any, base: type) -> Iterator[tuple[str, object]]:
    """Yield an object's attributes besides a container's items; raises _Unseen where its memory has more."""
    if type(value) is FunctionType:
        yield from (("code", value.__code__), ("defaults", value.__defaults__), ("named", value.__kwdefaults__))
        yield from ((f"cell {number}", cell) for number, cell in enumerate(value.__closure__ or ()))
        yield "attributes", value.__dict__
        return
    if type(value) is CellType:
        yield from [("", value.cell_contents)] if value != CellType() else []
        return
    if type(value) is MethodType:
        yield from (("function", value.__func__), ("self", value.__self__))
        return
    parts = [part for cls in type(value).__mro__ for part in vars(cls).values()]
    slots = [part for part in parts if type(part) is MemberDescriptorType]
    if not _shows_all(type(value), base, len(slots)):
        raise _Unseen
    yield from list(getattr(value, "__dict__", {}).items())
    yield from ((slot.__name__, _held_in(slot, value)) for slot in slots)


def _held_in(slot: MemberDescriptorType, value: object) -> object:
    try:
        return slot.__get__(value)
    except AttributeError:  # nothing was put there
        return None


def _shows_all(kind: type, base: type, slots: int) -> bool:
    """Return whether Python shows all the memory of a class's objects."""
    if kind.__itemsize__ != base.__itemsize__:
        return False
    # Newer Pythons keep these two before the object, and say so by offsets that are not positive.
    slots += (
        (kind.__dictoffset__ > 0 or kind.__dictoffset__ == -_WORD)
        + (kind.__weakrefoffset__ > 0)
        - (base.__weakrefoffset__ > 0)
    )
    return kind.__basicsize__ == base.__basicsize__ + _WORD * slots
