"""gridjit's own arrays as arguments: their parameters are packed when they are made."""

from __future__ import annotations

import functools
import struct
from collections.abc import Hashable
from typing import Any

from gridjit.compiler.values.item_types import item_type
from gridjit.compiler.values.signature import ArgType, ArrayType, array_codes
from gridjit.runtime.args.handler import Parameters, Place, check_device, register
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native.layout.probes import slot_offset
from gridjit.runtime.native.operation import BytesInSlot, Operation


class OwnArray:
    """An array of python_type: its slot `_parameters` holds its parameters, its slot `_kind` an object for each type.

    called: its name in errors.
    """

    def __init__(self, python_type: Any, called: str) -> None:
        self.python_type = python_type
        self.called = called

    def kind(self, value: Any) -> Hashable:
        return value._kind  # type: ignore[no-any-return]

    def type_of(self, value: Any, place: Place) -> ArrayType:
        dtype, ndim, layout, writable, aligned, device, _ = value._kind
        check_device(self.called, device, place)
        return ArrayType(dtype=item_type(dtype), ndim=ndim, layout=layout, readonly=not writable, aligned=aligned)

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        return struct.unpack("@" + array_codes(value.ndim), value._parameters)

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        parameters, kind = _slots(self.python_type)
        if type(value) is not self.python_type or parameters is None or kind is None:
            return None
        size, holds = len(value._parameters), value._kind
        return BytesInSlot(python_type=self.python_type, size=size, parameters=parameters, kind=kind, holds=holds)


@functools.cache  # finding them takes a while
def _slots(python_type: type[Any]) -> tuple[int | None, int | None]:
    """Return the offsets of the parameters, and of the type's object, in objects of a class."""
    return slot_offset(python_type, "_parameters"), slot_offset(python_type, "_kind")


register(DeviceArray, OwnArray(DeviceArray, "a device array"))
