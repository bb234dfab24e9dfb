"""Mangled names: C++ functions' names and types, read by Itanium's rules, as in numba-cuda's bindings."""

from __future__ import annotations

from dataclasses import dataclass

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
_OPERATORS = frozenset(["pl", "mi", "ml", "dv", "pL", "mI", "mL", "dV", "ps", "ng", "eq", "ne", "gt", "lt", "ge", "le"])
_DIGITS = "0123456789"


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
    _, is_conversion, rest = symbol.partition("_ZNK" if "_ZNK" in symbol else "_ZNVK")
    if is_conversion:
        owner, rest = source_name(rest)
        to, _, end = rest.removeprefix("cv").rpartition("Ev_")
        known = owner and rest.startswith("cv") and (end == "nbst" or end.isdecimal())
        return CppFunction(kind="conversion", name=owner, owner=owner, types=to) if known else None
    if not symbol.startswith("_Z") or not symbol.endswith("_nbst"):
        return None
    mangled = symbol[2:].removesuffix("_nbst")
    if mangled[:2] in _OPERATORS:
        return CppFunction(kind="operator", name=mangled[:2], owner=_first_class(mangled[2:]), types=mangled[2:])
    name, types = source_name(mangled[1:])
    if mangled.startswith("L") and name:
        return CppFunction(kind="function", name=name, owner=_first_class(types), types=types)
    if mangled.startswith("N") and name and types.startswith("C1E"):
        return CppFunction(kind="constructor", name=name, owner=name, types=types[3:])
    return None


def source_name(text: str) -> tuple[str, str]:
    """Return the name that a text begins with, after its length, and the rest of the text; "" if it has none."""
    rest = text.lstrip(_DIGITS)
    length = int(text[: len(text) - len(rest)] or 0)
    return rest[:length], rest[length:]


def _first_class(types: str) -> str:
    """Return the first class among mangled types, or an empty text."""
    at = types.find("__")
    while at >= 0:
        if length := types[len(types[:at].rstrip(_DIGITS)) : at]:
            return types[at : at + int(length)]
        at = types.find("__", at + 1)
    return ""
