"""Signatures made of objects: each part is one of numba's types, or the error says what to write in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridjit.compiler.errors import ConfigError, a_class, shown

_WAY_ON = 'give a string, such as "void(float32[::1], int64)", or a tuple of types: (cuda.float32[::1], cuda.int64)'

_NUMBERS = (np.number, np.bool_, int, float, complex)


def check_types(signature: Any) -> None:
    """Raise ConfigError unless signature, which is not a text, is one of numba's or a tuple of numba's types."""
    from numba.cuda import types
    from numba.cuda.core import sigutils

    if not isinstance(signature, tuple):
        if sigutils.is_signature(signature):
            return
        raise ConfigError(f"signature {shown(signature)} is {a_class(type(signature))}: {_WAY_ON}")
    for place, item in enumerate(signature, 1):
        if not isinstance(item, types.Type):
            raise ConfigError(f"signature {shown(signature)}: item {place} is {_said(item)}")


def _said(item: Any) -> str:
    """Return what an item is that is not a type, and the type that was probably meant."""
    what = a_class(item).partition(" ")[2] if isinstance(item, type) else a_class(type(item))
    if isinstance(item, np.ndarray):
        return f"{what} and not its type: give cuda.{_typed(item.dtype)}[{', '.join(':' * item.ndim)}]"
    if (name := _number(item)) is not None:
        return f"{what}, not a type of kernels: give cuda.{name}"
    if isinstance(item, str):
        return f"a string: give one string for the whole signature, or types such as cuda.{_plain(item)}"
    return f"{what}, not a type of kernels: {_WAY_ON}"


def _number(item: Any) -> str | None:
    """Return the name of the type of numbers that NumPy or Python calls so; None if there is none."""
    if not isinstance(item, np.dtype) and not (isinstance(item, type) and issubclass(item, _NUMBERS)):
        return None
    try:
        return _typed(np.dtype(item))
    except TypeError:  # a class of NumPy's that is not of one type, or one of the program's
        return None


def _typed(dtype: np.dtype[Any]) -> str:
    return "boolean" if dtype.kind == "b" else dtype.name


def _plain(text: str) -> str:
    return text if text.isidentifier() else "float32"
