"""Objects with the array interface or the buffer protocol as arguments: passed as the NumPy array over their memory."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import (
    ArgumentHandler,
    Parameters,
    Place,
    register_attribute,
    register_finder,
)
from gridjit.runtime.args.host_arrays import HostArray
from gridjit.runtime.memory.host_objects import host_array
from gridjit.runtime.memory.staging import Array, Transfer
from gridjit.runtime.native.operation import Operation


class HostObject(HostArray):
    """An object over host memory that is not a NumPy array; on a GPU its memory is copied there and back."""

    def array(self, value: Any) -> Array:
        if (array := host_array(value)) is None:
            raise ArgumentError(f"{a_class(type(value))} does not have memory that a kernel can use")
        return array

    def kind(self, value: Any) -> Hashable:
        return (HostObject, super().kind(self.array(value)))

    def type_of(self, value: Any, place: Place) -> ArrayType:
        return super().type_of(self.array(value), place)

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        array = self.array(value)
        transfer.keep(array)
        return super().parameters(array, transfer)

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def buffer_handler(value: Any) -> ArgumentHandler | None:
    """Return the handler of value's class if that has the buffer protocol, for more than one item; else None."""
    try:
        with memoryview(value) as memory:
            return _handler if memory.ndim else None
    except Exception as error:  # it does not have the protocol, or its code failed
        let_through(error)
        return None


_handler = HostObject()


def _find(python_type: type) -> ArgumentHandler | None:
    offers = hasattr(python_type, "__array_interface__") and not issubclass(python_type, np.generic)
    return _handler if offers else None


register_finder(6, _find)
register_attribute("__array_interface__", _handler)
