"""gridjit's own device arrays as arguments: their parameters are packed when they are made."""

from __future__ import annotations

import struct
from collections.abc import Hashable

from gridjit.compiler.item_types import item_type
from gridjit.compiler.signature import ArgType, ArrayType, array_codes
from gridjit.runtime.args.handler import Parameters, Place, check_device, register
from gridjit.runtime.args.staging import Transfer
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.native.operation import BytesInSlot, Operation
from gridjit.runtime.native.probes import slot_offset


class OwnArray:
    """A DeviceArray: its slot `_parameters` holds what is passed, its slot `_kind` an object for each type."""

    def kind(self, value: DeviceArray) -> Hashable:
        return value._kind

    def type_of(self, value: DeviceArray, place: Place) -> ArrayType:
        dtype, ndim, layout, writable, aligned, device, _ = value._kind
        check_device("a device array", device, place)
        return ArrayType(dtype=item_type(dtype), ndim=ndim, layout=layout, readonly=not writable, aligned=aligned)

    def parameters(self, value: DeviceArray, transfer: Transfer) -> Parameters:
        return struct.unpack("@" + array_codes(value.ndim), value._parameters)

    def operation(self, value: DeviceArray, place: Place, declared: ArgType) -> Operation | None:
        parameters, kind = slot_offset(DeviceArray, "_parameters"), slot_offset(DeviceArray, "_kind")
        if type(value) is not DeviceArray or parameters is None or kind is None:
            return None
        size = len(value._parameters)
        return BytesInSlot(python_type=DeviceArray, size=size, parameters=parameters, kind=kind, holds=value._kind)


register(DeviceArray, OwnArray())
