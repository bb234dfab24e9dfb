"""Reading files that other programs may have written: strict JSON, then a walk that checks every value.

Anything invalid is `Unreadable`, however deep its nesting and however long its numbers and lists.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Plain: TypeAlias = "bool | int | float | str | tuple[Plain, ...] | None"

LARGEST = 2**63 - 1
# The nesting of our files, with room to spare; deeper data is nobody's.
_DEEPEST = 16
_LONGEST_NUMBER = 32
# How many brackets json's own limit, which a program may have lifted, is trusted with.
_HARMLESS = 2_000
# A part of a qualified name; the compiler's own names of code are in brackets.
_NAME = r"\w+|<\w+>"  # compiled when first used
_TEXTS = r'(?s)"(?:[^"\\]|\\.)*"'


class Unreadable(ValueError):
    """Data is not valid."""


def parse(data: bytes) -> Any:
    """Return the JSON value in data: UTF-8, numbers of at most 32 digits; raises Unreadable for anything else."""
    try:
        text = data.decode()
        _check_depth(text)
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON as gridjit writes it: {type(error).__name__}") from None


def text(value: Any) -> str:
    """Return value, a text."""
    if type(value) is not str:
        raise Unreadable(f"a string is expected, not a {type(value).__name__}")
    return value


def dotted(value: Any) -> str:
    """Return value, the name of a module, or the qualified name of something in it: outer.<locals>.<lambda>."""
    if not all(re.fullmatch(_NAME, part) and part.strip("<>").isidentifier() for part in text(value).split(".")):
        raise Unreadable(f"{value!r} is not the name of anything in a module")
    return str(value)


def flag(value: Any) -> bool:
    """Return value, True or False."""
    if type(value) is not bool:
        raise Unreadable(f"true or false is expected, not a {type(value).__name__}")
    return value


def whole(value: Any, *, least: int = 0, most: int = LARGEST) -> int:
    """Return value, a whole number within bounds."""
    if type(value) is not int or not least <= value <= most:
        raise Unreadable(f"a whole number from {least} to {most} is expected")
    return value


def number(value: Any, *, least: float = 0.0) -> float:
    """Return value, a finite number."""
    if type(value) not in (int, float) or not value >= least:
        raise Unreadable(f"a number from {least} is expected")
    return float(value)


def items(value: Any, read: Callable[[Any], T], *, most: int = 100_000) -> tuple[T, ...]:
    """Return read(item) for each item of value, a list of at most so many."""
    if type(value) is not list or len(value) > most:
        raise Unreadable(f"a list of at most {most} is expected")
    return tuple([read(item) for item in value])


def row(value: Any, length: int) -> list[Any]:
    """Return value, a list of exactly that length."""
    if type(value) is not list or len(value) != length:
        raise Unreadable(f"a list of {length} is expected")
    return value


def pair(value: Any) -> tuple[str, str]:
    """Return value, a list of two texts, as a tuple."""
    first, second = row(value, 2)
    return text(first), text(second)


def fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return value, an object with exactly these names."""
    if type(value) is not dict or value.keys() != set(names):
        raise Unreadable(f"an object with {', '.join(sorted(names))} is expected")
    return value


def ordered(value: tuple[T, ...]) -> tuple[T, ...]:
    """Return value, whose items are sorted and without duplicates."""
    if any(not before < after for before, after in itertools.pairwise(value)):  # type: ignore[operator]
        raise Unreadable("sorted items are expected, each once")
    return value


def plain(value: Any, depth: int = _DEEPEST) -> Plain:
    """Return value with tuples for its lists: None, a boolean, number or text, or a list of plain values."""
    if type(value) is list and depth:
        return tuple([plain(item, depth - 1) for item in value])
    if value is None or type(value) in (bool, str):
        return value  # type: ignore[no-any-return]
    if type(value) is int and abs(value) <= LARGEST:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    raise Unreadable(f"a {type(value).__name__} is not a plain value")


def nested(value: Any, depth: int = _DEEPEST) -> Any:
    """Return value as it is, once all in it - objects too - is known to be plain and not too deep."""
    if type(value) is dict and depth:
        return {text(name): nested(item, depth - 1) for name, item in value.items()}
    if type(value) is list and depth:
        return [nested(item, depth - 1) for item in value]
    return plain(value, 0)


def _check_depth(text: str) -> None:
    """Raise Unreadable for nesting that json would follow until the stack ends, as a lifted limit lets it."""
    if sys.getrecursionlimit() <= 5_000 or text.count("[") + text.count("{") <= _HARMLESS:
        return
    depth = 0
    for bracket in re.finditer(r"[\[{]|[\]}]", re.sub(_TEXTS, "", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > _HARMLESS:
            raise Unreadable("nested too deeply")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise Unreadable("a number of too many digits")
    return int(digits)


def _float(digits: str) -> float:
    found = float(digits) if len(digits) <= _LONGEST_NUMBER else math.inf
    if not math.isfinite(found):
        raise Unreadable("a number out of range")
    return found


def _refuse(name: str) -> float:
    raise Unreadable(f"{name} is not a number")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_refuse)
