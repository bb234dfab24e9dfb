"""In, Out and InOut: the direction in which a host array is copied for a kernel on a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.signature import ArgType
from gridjit.runtime.args.handler import Parameters, Place, handler_of, register
from gridjit.runtime.args.host_arrays import HostArray, array_operation, array_parameters, moved
from gridjit.runtime.memory.staging import Directed, Transfer
from gridjit.runtime.native.operation import Operation


class In(Directed):
    """An array that the kernel only reads: it is copied to the device, and not back.

    On the host, the kernel gets a copy, too, unless the array is read-only. For arrays that are already on the device,
    In makes no difference.

        scale[grid, block](gridjit.In(x), gridjit.Out(y))
    """

    __slots__ = ()
    writes = False


class _Back(Directed):
    """An array that is copied back. asynchronous: the launch does not wait for the copy."""

    __slots__ = ()

    def __init__(self, value: Any, *, asynchronous: bool = False) -> None:
        super().__init__(value)
        self.asynchronous = asynchronous


class Out(_Back):
    """An array that the kernel only writes, every item of it: it is copied back from the device, but not to it.

    asynchronous: the launch returns before the items are copied back; `event`, set by the launch, comes when they are.
    Until then, neither read nor change the array.
    """

    __slots__ = ()
    reads = False


class InOut(_Back):
    """An array that the kernel reads and writes, copied both ways; unlike a bare array, it does not cause a warning.

    asynchronous: as for Out. A GPU's copy of the kernel's input is made before the launch returns; the host reads the
    array later.
    """

    __slots__ = ()


class DirectedArgument:
    """An In, Out or InOut: passed as its value."""

    def kind(self, value: Directed) -> Hashable:
        inner = value.value
        return (type(value), handler_of(inner).kind(inner))

    def type_of(self, value: Directed, place: Place) -> ArgType:
        if isinstance(value.value, Directed):
            raise ArgumentError(f"{type(value).__name__}() takes an array, not another {type(value.value).__name__}")
        return handler_of(value.value).type_of(value.value, place)

    def parameters(self, value: Directed, transfer: Transfer) -> Parameters:
        handler = handler_of(value.value)
        if value.asynchronous:
            transfer.later.append(value)
        if not isinstance(handler, HostArray):
            return handler.parameters(value.value, transfer)
        array = handler.array(value.value)
        transfer.keep(array)
        if transfer.space is None:
            passed = array if value.writes else transfer.spared(array)
            if passed is array and not value.asynchronous:
                transfer.use_in_place()
            return array_parameters(passed)
        staged = transfer.stage(array, read=value.reads, write=value.writes, later=value.asynchronous)
        return array_parameters(staged)

    def operation(self, value: Directed, place: Place, declared: ArgType) -> Operation | None:
        if place.is_host or value.asynchronous or type(value) not in _DIRECTIONS:
            return None
        from gridjit.runtime.native.layout.probes import slot_offset
        from gridjit.runtime.native.operation import DirectedArray  # launches from Python do without

        read = array_operation(value.value, declared)
        array, asynchronous = (slot_offset(type(value), name) for name in ("value", "asynchronous"))
        if read is None or array is None or asynchronous is None:
            return None
        if (copied := moved(read, reads=value.reads, writes=value.writes)) is None:
            return None
        parts = {one.name: getattr(copied, one.name) for one in dataclasses.fields(copied)}
        return DirectedArray(
            **parts | {"python_type": type(value)},
            array=array,
            asynchronous=asynchronous,
            array_type=copied.python_type,
        )


_DIRECTIONS = (In, Out, InOut)
for _direction in _DIRECTIONS:
    register(_direction, DirectedArgument())
