"""Objects with __cuda_array_interface__ as arguments: memory on a CUDA device that another library owns.

The launch's stream waits for the object's.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import (
    ArgumentHandler,
    Parameters,
    Place,
    register_attribute,
    register_finder,
)
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.foreign_array import read_interface
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.operation import Operation


class CudaArrayInterface:
    """An object with __cuda_array_interface__."""

    def kind(self, value: Any) -> Hashable:
        return (CudaArrayInterface, read_interface(value.__cuda_array_interface__).kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        refuse_on_host(value, place)
        return read_interface(value.__cuda_array_interface__).type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        array = read_interface(value.__cuda_array_interface__)
        if array.stream is not None:
            transfer.wait_for(array.stream)
        return array.parameters

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def refuse_on_host(value: Any, place: Place) -> None:
    """Raise ArgumentError for an array on a CUDA device, if kernels run on the host.

    Without such a device, an array that says it is on one is on the simulated device.
    """
    if place.is_host and presence.device_count():
        raise ArgumentError(
            f"{a_class(type(value))} has its data on a CUDA device and cannot be "
            "passed to a kernel on the host; copy it to the host first"
        )


_handler = CudaArrayInterface()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if hasattr(python_type, "__cuda_array_interface__") else None


register_finder(2, _find)
register_attribute("__cuda_array_interface__", _handler)
