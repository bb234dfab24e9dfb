"""OpaqueValue: a value that cannot be fingerprinted, and the words that say why."""

from __future__ import annotations

from typing import TypeGuard, TypeVar

_T = TypeVar("_T")


class OpaqueValue(Exception):
    """A value that cannot be fingerprinted; the message completes the sentence "global 'x' of f ..."."""


def unseen(value: object) -> OpaqueValue:
    """Return the error for an object of a class that gridjit knows nothing about."""
    return OpaqueValue(f"is {article(value)} object, whose contents gridjit cannot see")


def article(value: object) -> str:
    """Return an object's class with its article: a Model, an Object."""
    name = type(value).__qualname__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def type_name(cls: type) -> str:
    """Return a class's name as people write it: stats.Model, int."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def of_kind(value: object, kind: type[_T]) -> TypeGuard[_T]:
    """Return whether value is of a class. It is not asked itself: proxies and mocks claim to be others, or raise."""
    return issubclass(type(value), kind)
