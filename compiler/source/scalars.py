"""Texts of plain scalar values, and of numbers as arguments, different also where Python's == says equal.

As 1, True and 1.0; 0.0 and -0.0; NaNs.
"""

from __future__ import annotations

import numbers
import struct
from collections.abc import Callable
from typing import Any


def scalar_text(value: object) -> str | None:
    """Return a text for a None, Ellipsis, bool, int, float, complex, str or bytes; None for anything else.

    An object of a subclass is something else: its additions are not seen here.
    """
    text = _TEXTS.get(type(value))
    return None if text is None else text(value)


def _int_text(value: int) -> str:
    # Decimal texts of huge integers are slow, and refused by Python.
    return str(value) if -(1 << 64) < value < 1 << 64 else hex(value)


def _float_text(value: float) -> str:
    return repr(value) if value == value else f"nan:{struct.pack('>d', value).hex()}"


def _complex_text(value: complex) -> str:
    return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"


_TEXTS: dict[type, Callable[..., str]] = {
    type(None): repr,
    type(...): repr,
    type(NotImplemented): repr,
    bool: repr,
    int: _int_text,
    float: _float_text,
    complex: _complex_text,
    str: ascii,
    bytes: repr,
}


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
