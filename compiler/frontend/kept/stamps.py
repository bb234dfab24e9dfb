"""Stamps: one number for each of many dictionaries or functions, another one once it was changed; read all at once.

Until 3.12, CPython gives a dictionary a new version with each change; a function's code is at an address of its own.
Both stand in the objects' memory. To read the numbers of thousands of objects from there takes microseconds, to compare
what is in them milliseconds. Whether they stand where they are expected is tried first; if not, there are no stamps.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy

# Where a dictionary's version stands, in words of eight bytes: behind the object's head and the number of its items.
_VERSION = 3
# So far into a function its code is looked for.
_MOST_WORDS = 10
_WORD = 8


class Stamps:
    """The stamps of some objects, which have to stay alive. word: where an object has the number, in words."""

    def __init__(self, objects: Sequence[object], word: int) -> None:
        # Seen once: the addresses of objects that stay.
        places = numpy.fromiter(map(id, objects), dtype=numpy.uint64, count=len(objects)) // _WORD + word
        start = int(places.min()) if len(objects) else 0
        self._indices = (places - start).astype(numpy.intp)
        self._memory = _words(start * _WORD, int(self._indices.max()) + 1) if len(objects) else None

        self._settled: Any = None

    def read(self) -> Any:
        """Return the stamps of today, as an array."""
        return numpy.empty(0, numpy.uint64) if self._memory is None else self._memory.take(self._indices)

    def changed(self, now: Any) -> list[int]:
        """Return the indices of the objects that are not known to be as they were settled; of all at first."""
        if self._settled is None:
            return list(range(len(now)))
        found: list[int] = numpy.flatnonzero(now != self._settled).tolist()
        return found

    def settle(self, now: Any) -> None:
        """Note that the objects with these stamps are as they should be."""
        self._settled = now


def of_dictionaries(dictionaries: Sequence[dict[Any, Any]]) -> Stamps | None:
    """Return what reads the versions of dictionaries; None if this Python has none."""
    return Stamps(dictionaries, _VERSION) if _has_versions() else None


def of_codes(functions: Sequence[FunctionType]) -> Stamps | None:
    """Return what reads the addresses of functions' codes; None if they are not found."""
    word = _place_of_code()
    return None if word is None else Stamps(functions, word)


@functools.cache
def _has_versions() -> bool:
    """Return whether a dictionary's version is where it is expected: it changes with the dictionary, and only then."""
    if not _is_cpython() or sys.version_info >= (3, 13):
        return False
    tried: dict[str, object] = {"one": 1}
    changes = (
        lambda: tried.update(two=2),
        lambda: tried.update(one=object()),
        lambda: tried.pop("two"),
        lambda: tried.update({str(n): n for n in range(100)}),
        lambda: tried.clear(),
    )
    return all(_changes(tried, change) for change in changes)


def _changes(tried: dict[str, object], change: Any) -> bool:
    before, again = _word_of(tried, _VERSION), _word_of(tried, _VERSION)
    change()
    return before == again != _word_of(tried, _VERSION)


@functools.cache
def _place_of_code() -> int | None:
    if not _is_cpython():
        return None
    tried: tuple[FunctionType, ...] = (_is_cpython, _words)  # type: ignore[assignment]  # plain functions
    return next(
        (word for word in range(2, _MOST_WORDS) if all(_word_of(f, word) == id(f.__code__) for f in tried)), None
    )


def _is_cpython() -> bool:
    """Return whether this is CPython as it is usually built: objects stand where their id says, in words of 64 bits."""
    return sys.implementation.name == "cpython" and sys.maxsize == 2**63 - 1 and not hasattr(sys, "gettotalrefcount")


def _word_of(value: object, word: int) -> int:
    return int(_words(id(value), word + 1)[word])


def _words(address: int, count: int) -> Any:
    return numpy.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(address))
