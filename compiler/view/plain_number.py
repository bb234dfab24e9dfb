"""A plain number: an argument that is only its value, and the text that distinguishes it from other numbers."""

from __future__ import annotations

import numbers
import struct
from typing import Any

_PYTHONS = frozenset({bool, int, float, complex})
# The flag of classes that Python code made.
_MADE_BY_PROGRAMS = 1 << 9


def is_number(argument: Any) -> bool:
    """Return whether an argument is a number and nothing else: exactly Python's own, or one of NumPy's own scalars.

    One of a class made from those can have attributes and methods, of which its value tells nothing.
    """
    kind = type(argument)
    if kind in _PYTHONS:
        return True
    if kind.__module__ != "numpy" or kind.__flags__ & _MADE_BY_PROGRAMS:
        return False
    return issubclass(kind, numbers.Number) or kind.__name__ in ("bool_", "bool")


def number_text(number: Any) -> str:
    """Return a number's type and value; of what is not a number, the bits."""
    text = f"{type(number).__name__} {number!r}"
    if number == number:
        return text
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    bits = number.tobytes() if hasattr(number, "tobytes") else struct.pack(f"<{len(parts)}d", *parts)
    return f"{text} {bits.hex()}"
