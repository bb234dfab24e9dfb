"""Mapped and managed arrays as arguments: NumPy arrays that kernels use in place, even on a GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

import numpy as np

from gridjit.compiler.values.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import Parameters, Place, register
from gridjit.runtime.args.host_arrays import HostArray, array_operation, array_parameters, array_type
from gridjit.runtime.memory.staging import Array, Transfer, own
from gridjit.runtime.memory.unified import UnifiedArray
from gridjit.runtime.native.operation import Operation


class InPlaceArray(HostArray):
    """A UnifiedArray; without unified memory, it is an ordinary array."""

    def kind(self, value: Array) -> Hashable:
        return (UnifiedArray, _is_in_place(value), super().kind(value))

    def type_of(self, value: Array, place: Place) -> ArrayType:
        return array_type(own(value)) if _is_in_place(value) else super().type_of(value, place)

    def parameters(self, value: Array, transfer: Transfer) -> Parameters:
        return array_parameters(own(value)) if _is_in_place(value) else super().parameters(value, transfer)

    def operation(self, value: Array, place: Place, declared: ArgType) -> Operation | None:
        if not place.is_host:
            return None  # machine code cannot see whether it has such memory
        found = array_operation(value.view(np.ndarray), declared)
        return None if found is None else dataclasses.replace(found, python_type=type(value))


def _is_in_place(value: Array) -> bool:
    return isinstance(value, UnifiedArray) and value.memory is not None


register(UnifiedArray, InPlaceArray())
