"""Key fields of the argument types: their classes' code, and the attributes of extensions' types.

A signature holds a class's name, and the key by which numba compares an extension's type. An overload sees more:
the class with its attributes and methods, and every attribute of the type.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint_values
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.source.objects import closure_of
from gridjit.compiler.source.scalars import scalar_text
from gridjit.compiler.values.signature import ClassName, ForeignType, Signature

# An enum member's attributes that are Python's own, or stand in its class's text.
_OF_MEMBERS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
# A type's attributes that numba sets for itself, or compares.
_OF_TYPES = frozenset({"_code", "name"})


def signature_fingerprint(signature: Signature) -> SourceFingerprint:
    """Return the fingerprint of the classes of a signature, and of the state of types of extensions; most have none."""
    classes, foreign = signature.classes, signature.foreign
    if not classes and not foreign:
        return _NOTHING
    held = [*(part for found in classes for part in _class_parts(found)), *_type_parts(foreign)]
    return fingerprint_values(held, running=True)


_NOTHING = SourceFingerprint(parts=())


def _class_parts(found: ClassName) -> Iterator[tuple[str, object]]:
    python = found.python
    yield f"class {found} of an argument", python
    if issubclass(python, Enum):
        for name, member in python.__members__.items():
            yield f"state of {found}.{name}", {key: item for key, item in _state(member) if key not in _OF_MEMBERS}


def _type_parts(foreign: tuple[ForeignType, ...]) -> Iterator[tuple[str, object]]:
    for found in foreign:
        for one in types_in(found.numba):
            if not is_library(type(one).__module__):
                computed = {key for key, _ in _state(one) if _is_worked_out(type(one), key)}
                kept = {key: item for key, item in _state(one) if key not in _OF_TYPES | computed}
                yield f"state of the type {found}", kept
                yield f"class of the type {found}", type(one)
                yield f"what the class of the type {found} was made with", held_by_functions(type(one)) or {}


def types_in(value: Any) -> Iterator[Any]:
    """Yield a type and the types in its key."""
    if type(value) is tuple:
        for part in value:
            yield from types_in(part)
    elif hasattr(value, "key") and hasattr(value, "mangling_args"):
        yield value
        if value.key is not value:
            yield from types_in(value.key)


def _state(value: object) -> list[tuple[str, object]]:
    return sorted(getattr(value, "__dict__", {}).items())


def _is_worked_out(cls: type, name: str) -> bool:
    """Return whether an attribute is only kept after it was first asked for."""
    return isinstance(getattr(cls, name, None), functools.cached_property)


def held_by_functions(cls: type) -> dict[str, object] | None:
    """Return the plain values that a class's functions were made with, None if some were made with others."""
    made: dict[str, object] = {}
    for function in vars(cls).values():
        if isinstance(function, FunctionType):
            for name, value in closure_of(function).items():
                if value is cls:
                    continue
                if scalar_text(value) is None:
                    return None
                made[f"{function.__name__} {name}"] = value
    return made
