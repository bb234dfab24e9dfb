"""Numbers as arguments: Python's bool, int, float and complex, and NumPy's scalars. Passed by value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import SCALAR_CODES, ScalarType
from gridjit.runtime.args.base import register


class PlainNumber:
    """A Python number whose type alone decides what it becomes: bool, float."""

    def __init__(self, dtype: str) -> None:
        self._type = ScalarType(dtype=dtype)

    def kind(self, value: Any) -> Hashable:
        return self._type

    def type_of(self, value: Any) -> ScalarType:
        return self._type

    def parameters(self, value: Any) -> tuple[Any, ...]:
        return (value,)


class PythonInt:
    """A Python int: int64, or uint64 where only that holds it, as numba has it."""

    _signed, _unsigned = ScalarType(dtype="int64"), ScalarType(dtype="uint64")

    def kind(self, value: int) -> Hashable:
        return self.type_of(value)

    def type_of(self, value: int) -> ScalarType:
        if -(2**63) <= value < 2**63:
            return self._signed
        if 0 <= value < 2**64:
            return self._unsigned
        raise ArgumentError(f"the int {value} does not fit into 64 bits")

    def parameters(self, value: int) -> tuple[int]:
        return (int(value),)


class ComplexNumber:
    """A complex number: two floats."""

    def __init__(self, dtype: str) -> None:
        self._type = ScalarType(dtype=dtype)

    def kind(self, value: complex) -> Hashable:
        return self._type

    def type_of(self, value: complex) -> ScalarType:
        return self._type

    def parameters(self, value: complex) -> tuple[float, float]:
        return (value.real, value.imag)


class NumpyNumber:
    """A NumPy scalar: its own dtype."""

    def kind(self, value: np.generic) -> Hashable:
        return value.dtype

    def type_of(self, value: np.generic) -> ScalarType:
        if value.dtype.name not in SCALAR_CODES:
            raise ArgumentError(f"a NumPy {value.dtype.name} cannot be passed to a kernel by value")
        return ScalarType(dtype=value.dtype.name)

    def parameters(self, value: np.generic) -> tuple[Any, ...]:
        item = value.item()
        return (item.real, item.imag) if isinstance(item, complex) else (item,)


register(bool, PlainNumber("bool"))
register(float, PlainNumber("float64"))
register(int, PythonInt())
register(complex, ComplexNumber("complex128"))
register(np.generic, NumpyNumber())
for _numpy_type in (np.float64, np.complex128):  # subclasses of Python's own, first in their method order otherwise
    register(_numpy_type, NumpyNumber())
