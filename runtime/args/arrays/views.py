"""StridedMemoryViews as arguments: their parameters are packed when they are made, as those of device arrays are."""

from __future__ import annotations

import struct
from collections.abc import Hashable

from gridjit.compiler.item_types import item_type
from gridjit.compiler.signature import ArgType, ArrayType, array_codes
from gridjit.runtime.args.handler import Parameters, Place, check_device, register
from gridjit.runtime.args.staging import Transfer
from gridjit.runtime.memory.strided_view import StridedMemoryView
from gridjit.runtime.native.operation import BytesInSlot, Operation
from gridjit.runtime.native.probes import slot_offset


class View:
    """A StridedMemoryView, in memory that kernels can use."""

    def kind(self, value: StridedMemoryView) -> Hashable:
        return (StridedMemoryView, value._kind)

    def type_of(self, value: StridedMemoryView, place: Place) -> ArrayType:
        dtype, ndim, layout, writable, aligned, device, _ = value._kind
        check_device("a memory view", device, place)
        return ArrayType(dtype=item_type(dtype), ndim=ndim, layout=layout, readonly=not writable, aligned=aligned)

    def parameters(self, value: StridedMemoryView, transfer: Transfer) -> Parameters:
        return struct.unpack("@" + array_codes(value.ndim), value._parameters)

    def operation(self, value: StridedMemoryView, place: Place, declared: ArgType) -> Operation | None:
        parameters, kind = slot_offset(StridedMemoryView, "_parameters"), slot_offset(StridedMemoryView, "_kind")
        if type(value) is not StridedMemoryView or parameters is None or kind is None:
            return None
        size, holds = len(value._parameters), value._kind
        return BytesInSlot(python_type=StridedMemoryView, size=size, parameters=parameters, kind=kind, holds=holds)


register(StridedMemoryView, View())
