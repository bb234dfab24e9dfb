"""Objects with __dlpack__ as arguments: tensors of any library that supports DLPack (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.item_types import bfloat16
from gridjit.compiler.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import ArgumentHandler, Parameters, Place, check_device, class_name, register_finder
from gridjit.runtime.args.staging import Transfer
from gridjit.runtime.memory.dlpack_structures import CODES, READ_ONLY, ManagedVersioned, Tensor, pointer_in
from gridjit.runtime.memory.foreign_array import ForeignArray
from gridjit.runtime.native.operation import Operation

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_KINDS = {code: kind for kind, code in CODES.items()}
_BFLOAT = 4


class DlpackObject:
    """An object with __dlpack__ and __dlpack_device__."""

    def kind(self, value: Any) -> Hashable:
        return (DlpackObject, value.__dlpack_device__(), exported(value, None)[0].kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        device_type, device_id = value.__dlpack_device__()
        check_dlpack_device(value, int(device_type), int(device_id), place)
        return exported(value, None)[0].type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        array, capsule = exported(value, transfer)
        transfer.keep(capsule)
        return array.parameters

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def exported(value: Any, transfer: Transfer | None) -> tuple[ForeignArray, Any]:
    """Return what value exports and the capsule that keeps it; with a transfer, ready for its stream."""
    keywords: dict[str, Any] = {}
    if value.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED):
        # DLPack's numbers: 1 is the legacy default stream, -1 asks for no order.
        keywords["stream"] = -1 if transfer is None else (transfer.stream_handle or 1)
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **keywords)
    except TypeError:  # from before DLPack 1.0
        capsule = value.__dlpack__(**keywords)
    except BufferError as error:
        raise ArgumentError(f"a {class_name(type(value))} cannot be passed to a kernel: {error}") from error
    return _in_capsule(capsule), capsule


def array_in(tensor: Tensor, writable: bool = True) -> ForeignArray:
    """Return the array that a tensor describes; raises ArgumentError for items that kernels cannot use."""
    dtype, ndim = _dtype(tensor), tensor.ndim
    return ForeignArray(
        address=(tensor.data or 0) + tensor.byte_offset,
        shape=tuple(tensor.shape[:ndim]),
        strides=tuple([step * dtype.itemsize for step in tensor.strides[:ndim]]) if tensor.strides else None,
        dtype=dtype,
        writable=writable,
    )


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    kind, bits = _KINDS.get(tensor.code), tensor.bits
    if (tensor.code, bits, tensor.lanes) == (_BFLOAT, 16, 1):
        return bfloat16()
    if kind is None or tensor.lanes != 1 or bits % 8:
        raise ArgumentError(
            f"a tensor of DLPack type (code {tensor.code}, {bits} bits, {tensor.lanes} lanes) cannot be passed to a "
            "kernel; kernels do not support floats of fewer than 16 bits; view them as integers"
        )
    return np.dtype(f"{kind}{bits // 8}" if kind != "b" else "bool")


def check_dlpack_device(value: Any, device_type: int, device_id: int, place: Place) -> None:
    """Raise ArgumentError if a tensor on a device, by DLPack's numbers, is not usable at place."""
    if device_type in (CUDA_HOST, CUDA_MANAGED):
        return  # memory of both
    if device_type not in (CPU, CUDA):
        where = f"DLPack device ({device_type}, {device_id})"
        raise ArgumentError(f"a {class_name(type(value))} on {where} cannot be passed to a kernel on {place}")
    check_device(f"a {class_name(type(value))}", device_id if device_type == CUDA else None, place)


def _in_capsule(capsule: Any) -> ForeignArray:
    if address := pointer_in(id(capsule), b"dltensor_versioned"):
        versioned = ManagedVersioned.from_address(address)
        if versioned.major != 1:
            raise ArgumentError(f"DLPack {versioned.major}.{versioned.minor} is not known; 1 is")
        return array_in(versioned.tensor, not versioned.flags & READ_ONLY)
    if address := pointer_in(id(capsule), b"dltensor"):
        return array_in(Tensor.from_address(address))
    raise ArgumentError(f"{capsule!r} is not a DLPack capsule")


_handler = DlpackObject()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if hasattr(python_type, "__dlpack__") and hasattr(python_type, "__dlpack_device__") else None


register_finder(3, _find)
