"""Objects with __dlpack__ as arguments: tensors of any library that speaks DLPack (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.item_types import bfloat16
from gridjit.compiler.signature import ArgType, ArrayType
from gridjit.runtime.args.arrays import array_parameters, array_type, dense
from gridjit.runtime.args.base import ArgumentHandler, Parameters, Place, register_finder
from gridjit.runtime.args.place_check import check_device
from gridjit.runtime.args.transfer import Array, Transfer, array_at
from gridjit.runtime.memory.dlpack_structures import READ_ONLY, ManagedVersioned, Tensor
from gridjit.runtime.native.operation import Operation

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_BFLOAT = 4


class DlpackObject:
    """An object with __dlpack__ and __dlpack_device__."""

    def kind(self, value: Any) -> Hashable:
        array = exported(value, None)[0]
        return (DlpackObject, value.__dlpack_device__(), array.dtype, array.ndim, array.flags.num)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        device_type, device_id = value.__dlpack_device__()
        check_dlpack_device(value, int(device_type), int(device_id), place)
        return array_type(exported(value, None)[0])

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        array, address, capsule = exported(value, transfer)
        transfer.keep(capsule)
        return array_parameters(array, address)

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def exported(value: Any, transfer: Transfer | None) -> tuple[Array, int, Any]:
    """Return a ghost of value, its address and the capsule that keeps it; with a transfer, ready for its stream."""
    keywords: dict[str, Any] = {}
    if value.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED):
        # DLPack's numbers: 1 is the legacy default stream, -1 asks for no order.
        keywords["stream"] = -1 if transfer is None else (transfer.stream_handle or 1)
    try:
        capsule = value.__dlpack__(max_version=(1, 0), **keywords)
    except TypeError:  # from before DLPack 1.0
        capsule = value.__dlpack__(**keywords)
    except BufferError as error:
        raise ArgumentError(f"a {_name(value)} cannot be passed to a kernel: {error}") from error
    return (*_in_capsule(capsule), capsule)


def ghost_of(tensor: Tensor) -> Array:
    """Return an array over the memory of a tensor; raises ArgumentError for items that kernels cannot use."""
    dtype = _dtype(tensor)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = _strides(tensor, shape, dtype.itemsize)
    return array_at(address_of(tensor), shape, strides, dtype)


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    kind, bits = _KINDS.get(tensor.code), tensor.bits
    if (tensor.code, bits, tensor.lanes) == (_BFLOAT, 16, 1):
        return bfloat16()
    if kind is None or tensor.lanes != 1 or bits % 8:
        raise ArgumentError(
            f"a tensor of DLPack type (code {tensor.code}, {bits} bits, {tensor.lanes} lanes) cannot be passed to a "
            "kernel; floats of less than 16 bits have no type in kernels, view them as integers"
        )
    return np.dtype(f"{kind}{bits // 8}" if kind != "b" else "bool")


def address_of(tensor: Tensor) -> int:
    """Return where a tensor's first item is."""
    return int((tensor.data or 0) + tensor.byte_offset)


def check_dlpack_device(value: Any, device_type: int, device_id: int, place: Place) -> None:
    """Raise ArgumentError if a tensor on a device, by DLPack's numbers, is not usable at place."""
    if device_type in (CUDA_HOST, CUDA_MANAGED):
        return  # memory of both
    if device_type not in (CPU, CUDA):
        raise ArgumentError(
            f"a {_name(value)} on DLPack device ({device_type}, {device_id}) cannot be passed to a kernel on {place}"
        )
    check_device(f"a {_name(value)}", device_id if device_type == CUDA else None, place)


def _strides(tensor: Tensor, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if tensor.strides:
        return tuple(tensor.strides[axis] * itemsize for axis in range(tensor.ndim))
    return dense(shape, itemsize)


def _in_capsule(capsule: Any) -> tuple[Array, int]:
    if address := _pointer(capsule, b"dltensor_versioned"):
        versioned = ManagedVersioned.from_address(address)
        if versioned.major != 1:
            raise ArgumentError(f"DLPack {versioned.major}.{versioned.minor} is not known; 1 is")
        array = ghost_of(versioned.tensor)
        array.flags.writeable = not versioned.flags & READ_ONLY
        return array, address_of(versioned.tensor)
    if address := _pointer(capsule, b"dltensor"):
        tensor = Tensor.from_address(address)
        return ghost_of(tensor), address_of(tensor)
    raise ArgumentError(f"{capsule!r} is no DLPack capsule")


def _pointer(capsule: Any, name: bytes) -> int:
    if not _is_named(capsule, name):
        return 0
    return int(_get(capsule, name) or 0)


_is_named = ctypes.pythonapi.PyCapsule_IsValid
_is_named.restype, _is_named.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def capsule_pointer(capsule: Any, name: bytes) -> int:
    """Return the address in a capsule of that name; 0 if it is another."""
    return _pointer(capsule, name)


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


_handler = DlpackObject()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if hasattr(python_type, "__dlpack__") and hasattr(python_type, "__dlpack_device__") else None


register_finder(3, _find)
