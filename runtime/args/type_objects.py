"""Types as arguments: np.float32, a dtype. Kernels are compiled for them; a launch reads nothing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import identity, is_added, item_type
from gridjit.compiler.values.signature import SCALAR_CODES, ArgType, ClassType
from gridjit.runtime.args.handler import ACCEPTED, Parameters, Place, register
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.operation import OneObject, Operation

_NULL = (0,)


class NumberType:
    """A class of NumPy's numbers: np.float32, ml_dtypes.bfloat16."""

    def kind(self, value: type) -> Hashable:
        if value not in _NUMBERS:  # a metaclass may refuse to be looked up; refused classes are not
            self.type_of(value, Place())
        return (NumberType, value)

    def type_of(self, value: type, place: Place) -> ClassType:
        if value in _NUMBERS or is_added(value):
            return ClassType(dtype=item_type(np.dtype(value)), form="class")
        raise ArgumentError(
            f"the class {value.__module__}.{value.__qualname__} cannot be passed to a kernel; of classes, those of "
            f"NumPy's numbers can, such as np.float32. Else {ACCEPTED}"
        )

    def parameters(self, value: type, transfer: Transfer) -> Parameters:
        return _NULL

    def operation(self, value: type, place: Place, declared: ArgType) -> Operation | None:
        return the_object_itself(value)


class Dtype:
    """A dtype of NumPy's."""

    def kind(self, value: np.dtype[Any]) -> Hashable:
        return (Dtype, *identity(value))

    def type_of(self, value: np.dtype[Any], place: Place) -> ClassType:
        return ClassType(dtype=item_type(value), form="dtype")

    def parameters(self, value: np.dtype[Any], transfer: Transfer) -> Parameters:
        return _NULL

    def operation(self, value: np.dtype[Any], place: Place, declared: ArgType) -> Operation | None:
        return the_object_itself(value)


def the_object_itself(value: Any) -> Operation:
    """Return the native function's operation for an argument that matters by its identity only."""
    return OneObject(python_type=type(value), size=8, value=value)


_NUMBERS = frozenset(np.dtype(name).type for name in SCALAR_CODES) | {np.longlong, np.ulonglong}

register(type, NumberType())
register(np.dtype, Dtype())
