"""Mangled names: C++ functions' names and types, read by Itanium's rules, as in numba-cuda's bindings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridjit.base.regexes import regex

# Integers by their letter: how many bits, and whether they have a sign.
INTEGERS = {
    **{letter: (8, letter != "h") for letter in "ach"},
    "s": (16, True),
    "t": (16, False),
    "i": (32, True),
    "j": (32, False),
    "l": (64, True),
    "m": (64, False),
    "x": (64, True),
    "y": (64, False),
}
_FUNCTION = regex(r"_ZL(\d+)(\w+)_nbst", needs=("_nbst",))
_OPERATOR = regex(r"_Z(pl|mi|ml|dv|pL|mI|mL|dV|ps|ng|eq|ne|gt|lt|ge|le)(\w+)_nbst", needs=("_nbst",))
_CONSTRUCTOR = regex(r"_ZN(\d+)(\w+)_nbst", needs=("_nbst",))
_CONVERSION = regex(r"\w*?_ZNV?K(\d+)(\w+)Ev_(?:\d+|nbst)", needs=("_ZN",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CppFunction:
    """A C++ function: its kind ("function", "operator", "constructor", "conversion") and name.

    owner: the class that it belongs to, or else the first that its parameters name. types: its parameters as mangled,
    or what it converts to.
    """

    kind: str
    name: str
    owner: str
    types: str


def read_name(symbol: str) -> CppFunction | None:
    """Return the function that a symbol names, or None for a symbol of another form."""
    if "_Z" not in symbol:
        return None
    if found := _FUNCTION.fullmatch(symbol):
        name, types = _split(found[1], found[2])
        return CppFunction(kind="function", name=name, owner=_first_class(types), types=types)
    if found := _OPERATOR.fullmatch(symbol):
        return CppFunction(kind="operator", name=found[1], owner=_first_class(found[2]), types=found[2])
    if found := _CONSTRUCTOR.fullmatch(symbol):
        owner, rest = _split(found[1], found[2])
        return CppFunction(kind="constructor", name=owner, owner=owner, types=rest[3:]) if rest[:3] == "C1E" else None
    if found := _CONVERSION.fullmatch(symbol):
        owner, rest = _split(found[1], found[2])
        return CppFunction(kind="conversion", name=owner, owner=owner, types=rest[2:]) if rest[:2] == "cv" else None
    return None


def _split(length: str, text: str) -> tuple[str, str]:
    return text[: int(length)], text[int(length) :]


def _first_class(types: str) -> str:
    """Return the first class among mangled types, or an empty text."""
    found = re.search(r"(\d+)(?=__)", types)
    return types[found.end() : found.end() + int(found[1])] if found else ""
