"""Texts of plain scalar values, different also where Python's == says equal: 1, True and 1.0; 0.0 and -0.0; NaNs."""

from __future__ import annotations

import struct
from collections.abc import Callable


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
