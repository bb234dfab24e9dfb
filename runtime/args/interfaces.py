"""Arrays of other libraries as arguments: objects with __cuda_array_interface__, or with __dlpack__.

The launch's stream waits for the object's. DLPack is at https://dmlc.github.io/dlpack.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import ArrayType
from gridjit.runtime.args.handler import (
    ArgumentHandler,
    FromPython,
    Parameters,
    Place,
    check_device,
    register_attribute,
    register_finder,
)
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.dlpack_import import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, NO_ORDER, exported
from gridjit.runtime.memory.foreign_array import read_interface
from gridjit.runtime.memory.staging import Transfer


class CudaArrayInterface(FromPython):
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


class DlpackObject(FromPython):
    """An object with __dlpack__ and __dlpack_device__."""

    def kind(self, value: Any) -> Hashable:
        return (DlpackObject, value.__dlpack_device__(), exported(value, NO_ORDER)[0].kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        device_type, device_id = value.__dlpack_device__()
        check_dlpack_device(value, int(device_type), int(device_id), place)
        return exported(value, NO_ORDER)[0].type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        array, capsule = exported(value, transfer.stream_handle)
        transfer.keep(capsule)
        if transfer.space is None:
            transfer.use_in_place()
        return array.parameters


def check_dlpack_device(value: Any, device_type: int, device_id: int, place: Place) -> None:
    """Raise ArgumentError if a tensor on a device, by DLPack's numbers, is not usable at place."""
    if device_type in (CUDA_HOST, CUDA_MANAGED):
        return  # memory of both
    if device_type not in (CPU, CUDA):
        where = f"DLPack device ({device_type}, {device_id})"
        raise ArgumentError(f"{a_class(type(value))} on {where} cannot be passed to a kernel on {place}")
    check_device(f"{a_class(type(value))}", device_id if device_type == CUDA else None, place)


_dlpack_handler = DlpackObject()


def _find_dlpack(python_type: type) -> ArgumentHandler | None:
    return _dlpack_handler if hasattr(python_type, "__dlpack__") and hasattr(python_type, "__dlpack_device__") else None


register_finder(3, _find_dlpack)
