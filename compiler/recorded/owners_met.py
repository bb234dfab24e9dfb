"""owners_met: whose code and objects a compile met: what it took from Python, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType

from gridjit.compiler.key.argument_classes import types_in
from gridjit.compiler.key.installed import Distribution, owner_of
from gridjit.compiler.key.source.libraries import is_library
from gridjit.compiler.key.source.objects import code_behind
from gridjit.compiler.signature import Signature

# How deep containers are looked into; what is deeper may be anybody's.
_DEEPEST = 8
_CONTAINERS = (tuple, list, set, frozenset, dict)


def owners_met(values: Iterable[object], signature: Signature) -> Callable[[Distribution | None], bool]:
    """Return whether a compile that took these values, for such arguments, met code or objects of a distribution."""
    types = (one for found in signature.foreign for one in types_in(found.numba))
    classes = (found.python for found in signature.classes)
    owners = {owner for value in (*values, *types, *classes) for owner in _owners(value, _DEEPEST)}
    return lambda owner: owner in owners or _ANYBODY in owners


# Stands for whoever it may be: an object of the program's may hold any other, and its own code says of which type.
_ANYBODY = None


def _owners(value: object, depth: int) -> Iterator[Distribution | None]:
    value = code_behind(value)
    if isinstance(value, FunctionType | BuiltinFunctionType | ModuleType):
        owner = owner_of(value)
        yield from () if owner is None else (owner,)
        return
    yield from _owners_of_class(value)
    if isinstance(value, _CONTAINERS):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _owners(item, depth - 1) if depth else (_ANYBODY,)


def _owners_of_class(value: object) -> Iterator[Distribution | None]:
    """Yield who has to do with a class, or with an object of one: the owners of all its bases."""
    for base in (value if isinstance(value, type) else type(value)).__mro__:
        if (owner := owner_of(base)) is not None:
            yield owner
        elif not (is_library(base.__module__) or isinstance(value, (type, Enum, *_CONTAINERS))):
            yield _ANYBODY
