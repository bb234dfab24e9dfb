"""Numbers as arguments: Python's bool, int, float and complex, and NumPy's scalars. Passed by value."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.signature import SCALAR_CODES, ArgType, ScalarType
from gridjit.runtime.args.handler import Parameters, Place, register
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.layout.probes import object_layout, offsets_of

if TYPE_CHECKING:
    from gridjit.runtime.native.operation import Operation

# Operations are imported on demand: launches from Python do without.
_INT_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


class Bool:
    """A Python bool."""

    _type = ScalarType(dtype="bool")

    def kind(self, value: bool) -> Hashable:
        return self._type

    def type_of(self, value: bool, place: Place) -> ScalarType:
        return self._type

    def parameters(self, value: bool, transfer: Transfer) -> Parameters:
        return (value,)

    def operation(self, value: bool, place: Place, declared: ArgType) -> Operation | None:
        from gridjit.runtime.native.operation import TrueOrFalse

        if declared != self._type:
            return None
        return TrueOrFalse(python_type=bool, size=1, alignment=1)


def _derived(type_: ScalarType) -> Hashable:
    """Return the kind of numbers of derived classes, which machine code does not read."""
    return type_, "derived"


class Float:
    """A Python float: 64 bits."""

    _type = ScalarType(dtype="float64")

    def kind(self, value: float) -> Hashable:
        return self._type if type(value) is float else _derived(self._type)

    def type_of(self, value: float, place: Place) -> ScalarType:
        return self._type

    def parameters(self, value: float, transfer: Transfer) -> Parameters:
        return (value,)

    def operation(self, value: float, place: Place, declared: ArgType) -> Operation | None:
        from gridjit.runtime.native.operation import Copied, Rounded

        found = object_layout()
        if found is None or not isinstance(declared, ScalarType) or type(value) is not float:
            return None
        if declared.dtype == "float64":
            return Copied(python_type=float, size=8, offset=found.float_value)
        if declared.dtype == "float32":
            return Rounded(python_type=float, size=4, alignment=4, offset=found.float_value)
        return None


class PythonInt:
    """A Python int: int64, or uint64 if only that holds it, as in numba."""

    _signed, _unsigned = ScalarType(dtype="int64"), ScalarType(dtype="uint64")

    def kind(self, value: int) -> Hashable:
        type_ = self._signed if -(2**63) <= value < 2**63 else self.type_of(value, None)
        return type_ if type(value) is int else _derived(type_)

    def type_of(self, value: int, place: Place | None) -> ScalarType:
        if -(2**63) <= value < 2**63:
            return self._signed
        if 0 <= value < 2**64:
            return self._unsigned
        raise ArgumentError(f"the int {value} does not fit into 64 bits")

    def parameters(self, value: int, transfer: Transfer) -> Parameters:
        return (int(value),)

    def operation(self, value: int, place: Place, declared: ArgType) -> Operation | None:
        from gridjit.runtime.native.operation import Int, IntToDouble, IntToFloat, UnsignedInt

        if type(value) is not int or not isinstance(declared, ScalarType):
            return None
        name = declared.dtype
        if name == "float64":
            return IntToDouble(python_type=int, size=8)
        if name == "float32":
            return IntToFloat(python_type=int, size=4, alignment=4)
        if name == "uint64":
            low = -(2**63) if -(2**63) <= value < 2**63 else 2**63
            return UnsignedInt(python_type=int, size=8, low=low, high=2**64 - 1)
        bits = _INT_BITS.get(name.removeprefix("u"))
        if bits is None:
            return None
        # Any number of as many bits, with a sign or without.
        low, high, size = -(2 ** (bits - 1)), min(2**bits, 2**63) - 1, bits // 8
        return Int(python_type=int, size=size, alignment=size, low=low, high=high)


class Complex:
    """A Python complex number: two floats of 64 bits."""

    _type = ScalarType(dtype="complex128")

    def kind(self, value: complex) -> Hashable:
        return self._type if type(value) is complex else _derived(self._type)

    def type_of(self, value: complex, place: Place) -> ScalarType:
        return self._type

    def parameters(self, value: complex, transfer: Transfer) -> Parameters:
        return (value.real, value.imag)

    def operation(self, value: complex, place: Place, declared: ArgType) -> Operation | None:
        from gridjit.runtime.native.operation import Copied, Rounded

        found = object_layout()
        if found is None or not isinstance(declared, ScalarType) or type(value) is not complex:
            return None
        if declared.dtype == "complex128":
            return Copied(python_type=complex, size=16, offset=found.complex_value)
        if declared.dtype == "complex64":
            return Rounded(python_type=complex, size=8, alignment=4, offset=found.complex_value)
        return None


class NumpyNumber:
    """A NumPy scalar: its own dtype."""

    def kind(self, value: np.generic) -> Hashable:
        return value.dtype

    def type_of(self, value: np.generic, place: Place) -> ScalarType:
        if value.dtype.name not in _NUMPY_NAMES:
            raise ArgumentError(
                f"a NumPy {value.dtype.name} cannot be passed to a kernel by value; pass an array of it"
            )
        return ScalarType(dtype=value.dtype.name)

    def parameters(self, value: np.generic, transfer: Transfer) -> Parameters:
        item = value.item()
        return (item.real, item.imag) if isinstance(item, complex) else (item,)

    def operation(self, value: np.generic, place: Place, declared: ArgType) -> Operation | None:
        from gridjit.runtime.native.operation import Copied

        exact = type(value) is value.dtype.type
        if not exact or not isinstance(declared, ScalarType) or declared.dtype != value.dtype.name:
            return None
        offset = _value_offset(value.dtype)
        if offset is None:
            return None
        size, is_complex = value.dtype.itemsize, value.dtype.kind == "c"
        return Copied(python_type=type(value), size=size, alignment=size // 2 if is_complex else size, offset=offset)


_NUMPY_NAMES = frozenset(SCALAR_CODES)


@functools.cache
def _value_offset(dtype: np.dtype[Any]) -> int | None:
    """Return the offset of the value in scalars of a NumPy type, or None if it is not clear."""
    if object_layout() is None:
        return None
    patterns = (b"\x01" if dtype.kind == "b" else bytes(range(0x21, 0x21 + dtype.itemsize)), b"\0" * dtype.itemsize)
    samples = [(np.frombuffer(pattern, dtype)[0], pattern) for pattern in patterns]
    if dtype.kind == "b":  # only two objects, and many zero bytes: True shows the offset
        samples = samples[:1]
    found = [at for at in offsets_of(dtype.type.__basicsize__, samples) if at >= object.__basicsize__]
    return found[0] if len(found) == 1 else None


register(bool, Bool())
register(float, Float())
register(int, PythonInt())
register(complex, Complex())
register(np.generic, NumpyNumber())
# By name, so that a look at base classes does not find Python's own for np.float64 and np.complex128.
for _name in SCALAR_CODES:
    register(np.dtype(_name).type, NumpyNumber())
