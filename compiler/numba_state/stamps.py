"""Stamps: numbers that tell which of many dictionaries, functions or cells have changed. All are read at once.

Until 3.12, CPython gives a dictionary a new version with each change. A function's code, its defaults and a closure's
contents have addresses. All these numbers are in the objects' memory. To read the numbers of thousands of objects takes
microseconds; to compare the objects' contents takes milliseconds. A test first finds out whether the numbers are where
they are expected. If they are not, stamps are not used.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy

# Where a dictionary's version stands, in words of eight bytes: behind the object's head and the number of its items.
_VERSION = 3
# Where a cell's content stands: behind the object's head.
_CONTENT = 2
_WORD = 8


class Stamps:
    """The stamps of some objects, which have to stay alive. words: where in an object its numbers are, in words."""

    def __init__(self, objects: Sequence[object], *words: int) -> None:
        # Read once: the objects stay where they are.
        heads = numpy.fromiter(map(id, objects), dtype=numpy.uint64, count=len(objects)) // _WORD
        self._each = len(words)
        self._settled: Any = None
        self._look_at((heads[:, None] + numpy.array(words, dtype=numpy.uint64)).ravel())

    def _look_at(self, places: Any) -> None:
        self._places = places
        start = int(places.min()) if len(places) else 0
        self._indices = (places - start).astype(numpy.intp)
        self._memory = _words(start * _WORD, int(self._indices.max()) + 1) if len(places) else None

    def read(self) -> Any:
        """Return the stamps of today, as an array."""
        return numpy.empty(0, numpy.uint64) if self._memory is None else self._memory.take(self._indices)

    def changed(self, now: Any) -> list[int]:
        """Return the indices of the objects that may have changed since they were settled; of all objects at first."""
        if self._settled is None:
            return list(range(len(now) // self._each))
        found: list[int] = numpy.flatnonzero(now != self._settled).tolist()
        return [*dict.fromkeys([index // self._each for index in found])]

    def settle(self, now: Any) -> None:
        """Note that the objects are as they should be now that they have these stamps."""
        self._settled = now

    def add(self, more: Stamps) -> None:
        """Add the stamps of more objects, each settled as it is."""
        settled = (self._settled, more._settled)
        self._settled = None if any(one is None for one in settled) else numpy.concatenate(settled)
        self._look_at(numpy.concatenate((self._places, more._places)))


def addresses(functions: Sequence[FunctionType], *paths: str) -> list[Any]:
    """Return, for each path from functions, the addresses of the objects at its end.

    paths: as "__code__.co_name". The address of a missing object may be 0, or None's.
    """
    heads = numpy.fromiter(map(id, functions), dtype=numpy.uint64, count=len(functions))
    return [_addresses(functions, heads, path) for path in paths]


def _addresses(functions: Sequence[FunctionType], heads: Any, path: str) -> Any:
    words = [_place_of(name, kind) for name, kind in zip(path.split("."), (FunctionType, CodeType), strict=False)]
    if None in words:
        found = map(id, map(operator.attrgetter(path), functions))
        return numpy.fromiter(found, dtype=numpy.uint64, count=len(functions))
    return functools.reduce(_gathered, words, heads)


def _gathered(heads: Any, word: Any) -> Any:
    """Return a word of each of the objects at some addresses."""
    if not len(heads):
        return heads
    places = heads // _WORD + numpy.uint64(word)
    start = int(places.min())
    return _words(start * _WORD, int(places.max()) - start + 1).take((places - start).astype(numpy.intp))


def set_since_made(functions: Sequence[FunctionType]) -> list[FunctionType] | None:
    """Return the functions whose code or defaults may have been set since `def` made them; None if nothing tells.

    From Python 3.12 on, `def` gives a function the version of its code, and setting its code or its defaults takes that
    version away. A function that was made in another way has no version, or one of its own.
    """
    if (halves := _halves_of_versions()) is None:
        return None
    of_function, of_code = halves
    heads = numpy.fromiter(map(id, functions), dtype=numpy.uint64, count=len(functions))
    codes = _addresses(functions, heads, "__code__")
    own = _half(_gathered(heads, of_function // 2), of_function)
    theirs = _half(_gathered(codes, of_code // 2), of_code)
    return [functions[index] for index in numpy.flatnonzero((own != theirs) | (own == 0)).tolist()]


def _half(words: Any, half: int) -> Any:
    return (words >> numpy.uint64(32 * (half % 2))) & numpy.uint64(0xFFFFFFFF)


@functools.cache
def _halves_of_versions() -> tuple[int, int] | None:
    """Return where a function and its code have their versions, in halves of words; None if they are not found."""
    if not _is_cpython() or sys.version_info < (3, 12):
        return None
    names: dict[str, Any] = {}
    text = "def a(one=(1,), *, two=(2,)): return one\ndef b(one=(1,), *, two=(2,)): return 2\ndef c(one=()): return 3"
    exec(text, names)
    tried = [names[name] for name in "abc"]
    before = [_halves(one) for one in tried]
    tried[0].__defaults__ = (3,)
    tried[1].__kwdefaults__ = {"two": 3}
    tried[2].__code__ = tried[1].__code__
    after = [_halves(one) for one in tried]
    found = [
        (of_function, of_code)
        for of_function in range(4, len(before[0][0]))
        for of_code in range(4, len(before[0][1]))
        if all(function[of_function] == code[of_code] != 0 for function, code in before)
        and len({function[of_function] for function, _ in before}) == len(tried)
        and all(function[of_function] != code[of_code] for function, code in after)
    ]
    return found[0] if len(found) == 1 else None


def _halves(function: FunctionType) -> tuple[list[int], list[int]]:
    """Return the memory of a function and of its code, in numbers of four bytes."""
    both = (function, function.__code__)
    words = [_words(id(one), one.__sizeof__() // _WORD).tolist() for one in both]
    return tuple([half for word in those for half in (word & 0xFFFFFFFF, word >> 32)] for those in words)  # type: ignore[return-value]


def of_dictionaries(dictionaries: Sequence[dict[Any, Any]]) -> Stamps | None:
    """Return the stamps of dictionaries, their versions; None if this Python has none."""
    return Stamps(dictionaries, _VERSION) if _has_versions() else None


def of_attributes(names: Sequence[str], functions: Sequence[FunctionType]) -> Stamps | None:
    """Return the stamps of functions' attributes, their addresses; None if they are not found.

    A former value has to stay alive, here and in cells, so that no other object gets its address.
    """
    words = [word for word in map(_place_of, names) if word is not None]
    return Stamps(functions, *words) if len(words) == len(names) else None


def of_cells(cells: Sequence[CellType]) -> Stamps | None:
    """Return the stamps of cells, their contents' addresses; None if they are not found."""
    return Stamps(cells, _CONTENT) if _has_contents() else None


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
def _place_of(name: str, kind: type = FunctionType) -> int | None:
    """Return in which word a function, or its code, has an attribute; None if it is not found."""
    if not _is_cpython():
        return None
    functions = [_tried(number) for number in (1000, 2000)]
    tried: list[Any] = functions if kind is FunctionType else [one.__code__ for one in functions]
    places = range(2, min(one.__sizeof__() for one in tried) // _WORD)
    return next((word for word in places if all(_word_of(one, word) == id(getattr(one, name)) for one in tried)), None)


def _tried(number: int) -> FunctionType:
    """Return a new function with everything that functions may have, and with its own code and namespace."""

    def function(one: object = (number,), *, two: object = (number,)) -> object:
        return number, one, two

    code = function.__code__.replace(co_name=f"name_{number}", co_filename=f"file_{number}")
    made = FunctionType(code, {}, f"called_{number}", function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@functools.cache
def _has_contents() -> bool:
    """Return whether a cell's content is where it is expected, and nothing is there in an empty cell."""
    if not _is_cpython():
        return False
    tried = [CellType(object()), CellType([])]
    return all(_word_of(one, _CONTENT) == id(one.cell_contents) for one in tried) and not _word_of(CellType(), _CONTENT)


def _is_cpython() -> bool:
    """Return whether this is CPython as it is usually built: objects stand where their id says, in words of 64 bits."""
    return sys.implementation.name == "cpython" and sys.maxsize == 2**63 - 1 and not hasattr(sys, "gettotalrefcount")


def _word_of(value: object, word: int) -> int:
    return int(_words(id(value), word + 1)[word])


def _words(address: int, count: int) -> Any:
    return numpy.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(address))
