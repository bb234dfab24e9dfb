"""A plain number: an argument that is nothing but its value, and the text that distinguishes it from other numbers."""

from __future__ import annotations

import numbers
import struct
from typing import Any

_PYTHONS = frozenset({bool, int, float, complex})
# The flag of classes that Python code made.
_MADE_BY_PROGRAMS = 1 << 9


def is_number(argument: Any) -> bool:
    """Return whether an argument is a number and nothing else: of Python's own classes, or of NumPy's own.

    A number of a derived class can have attributes and methods, which its value does not show.
    """
    kind = type(argument)
    if kind in _PYTHONS:
        return True
    if kind.__module__ != "numpy" or kind.__flags__ & _MADE_BY_PROGRAMS:
        return False
    return issubclass(kind, numbers.Number) or kind.__name__ in ("bool_", "bool")


def number_text(number: Any) -> str:
    """Return a number's type and value; for a NaN also its bits."""
    text = f"{type(number).__name__} {number!r}"
    if number == number:
        return text
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    bits = number.tobytes() if hasattr(number, "tobytes") else struct.pack(f"<{len(parts)}d", *parts)
    return f"{text} {bits.hex()}"
