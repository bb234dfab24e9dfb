"""dlpack_import: the arrays in DLPack capsules of version 0 or 1, and requests for capsules.

A launch does not consume its capsules: a capsule keeps the memory as long as it is kept, and its own destructor calls
the producer's deleter. A view consumes its capsule. Protocol: https://dmlc.github.io/dlpack/latest/python_spec.html
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.item_types import TOO_SMALL, bfloat16, small_float
from gridjit.runtime.memory.dlpack_structures import CODES, READ_ONLY, Managed, ManagedVersioned, Tensor, pointer_in
from gridjit.runtime.memory.foreign_array import ForeignArray, refuse_nowhere

# DLPack's numbers of devices. Memory of the last two is the host's and the GPUs'.
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
# A consumer's request not to order the producer's work.
NO_ORDER = -1
_KINDS = {code: kind for kind, code in CODES.items()}
_OPAQUE, _BFLOAT, _BOOL = 3, 4, 6
_NUMBERS = "kernels have integers of 8 to 64 bits, floats of 16 to 64, complex numbers of 64 and 128, and bools of 8"
# A producer's deleter, called with the GIL held: it may need it, and may take it again.
_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_NO_DELETER = _Deleter()
# A consumed capsule's name. The capsule keeps only the pointer to it.
_USED = {name: ctypes.create_string_buffer(b"used_" + name) for name in (b"dltensor", b"dltensor_versioned")}
# A prototype of our own: all users share the argument types of ctypes.pythonapi's functions.
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", ctypes.pythonapi))
# DLPack's number of each float of one byte.
_SMALL_FLOATS = {
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
}


def exported(value: Any, stream: int) -> tuple[ForeignArray, Any]:
    """Return the array that an object exports by __dlpack__, and the capsule.

    stream: the handle of the stream of the later work with it, 0 for the default stream; its producer's work comes
    before. NO_ORDER: without that. Raises ArgumentError for a failed export, and for arrays that kernels cannot use.
    """
    keywords: dict[str, Any] = {}
    if device_of(value)[0] in (CUDA, CUDA_MANAGED):
        keywords["stream"] = stream or 1  # DLPack's number of the legacy default stream
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 0), **keywords)
        except TypeError:  # from before DLPack 1.0
            capsule = value.__dlpack__(**keywords)
    except BufferError as error:
        raise ArgumentError(f"{a_class(type(value))} cannot be passed to a kernel: {error}") from error
    except Exception as error:  # any error of its producer
        let_through(error)
        raise ArgumentError(f"{a_class(type(value))} does not give its __dlpack__: {error}") from error
    return array_in_capsule(capsule), capsule


def device_of(value: Any) -> tuple[int, int]:
    """Return the device, its type and number, that an object names; raises ArgumentError if it names none."""
    try:
        kind, number = value.__dlpack_device__()
        return int(kind), int(number)
    except Exception as error:  # any error of its producer
        let_through(error)
        raise ArgumentError(f"{a_class(type(value))} does not give its __dlpack_device__: {error}") from error


def array_in_capsule(capsule: Any) -> ForeignArray:
    """Return the array in a capsule of either version; raises ArgumentError for another object or version."""
    if address := pointer_in(id(capsule), b"dltensor_versioned"):
        versioned = ManagedVersioned.from_address(address)
        if versioned.major != 1:
            raise ArgumentError(f"DLPack {versioned.major}.{versioned.minor} is not known; 1 is")
        return array_in(versioned.tensor, not versioned.flags & READ_ONLY)
    if address := pointer_in(id(capsule), b"dltensor"):
        return array_in(Tensor.from_address(address))
    if any(pointer_in(id(capsule), name) for name in (b"used_dltensor_versioned", b"used_dltensor")):
        raise ArgumentError(f"{capsule!r} was consumed before, and a capsule is used once; export the array again")
    raise ArgumentError(f"{capsule!r} is not a DLPack capsule")


class Consumed:
    """The memory of a consumed capsule, which cannot be consumed again: it goes with this object.

    The capsule itself says whether it was consumed, by its name: an interrupt may come at any moment.
    """

    _capsule: Any = None
    _name, _delete = ctypes.create_string_buffer(b""), _NO_DELETER

    def __init__(self, capsule: Any) -> None:
        for name, used in _USED.items():
            if address := pointer_in(id(capsule), name):
                kind = ManagedVersioned if name == b"dltensor_versioned" else Managed
                self._delete = ctypes.cast(kind.from_address(address).deleter, _Deleter)
                self._capsule, self._name = capsule, used
                _rename(capsule, used)

    def __del__(self) -> None:
        address = pointer_in(id(self._capsule), self._name.value)
        if address and self._delete:
            self._delete(address)


def array_in(tensor: Tensor, writable: bool = True) -> ForeignArray:
    """Return the array that a tensor describes; raises ArgumentError for items that kernels cannot use."""
    dtype, ndim = _dtype(tensor), tensor.ndim
    shape = tuple(tensor.shape[:ndim])
    address = (tensor.data or 0) + tensor.byte_offset
    refuse_nowhere(tensor.data, shape)
    return ForeignArray(
        address=address,
        shape=shape,
        strides=tuple([step * dtype.itemsize for step in tensor.strides[:ndim]]) if tensor.strides else None,
        dtype=dtype,
        writable=writable,
    )


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    code, bits, lanes = tensor.code, tensor.bits, tensor.lanes
    if (code, bits, lanes) == (_BFLOAT, 16, 1):
        return bfloat16()
    if bits % 8:
        raise ArgumentError(
            f"items of {bits} bits (DLPack type code {code}) are not whole bytes, so they have no addresses of their "
            "own; view the bytes that they are packed in as uint8"
        )
    said = f"a tensor of DLPack type (code {code}, {bits} bits, {lanes} lanes) cannot be passed to a kernel"
    if lanes != 1:
        raise ArgumentError(f"{said}: its items are vectors; give it another axis, of {lanes} items with one lane each")
    if code in _SMALL_FLOATS and bits == 8:
        return small_float(_SMALL_FLOATS[code])
    try:
        return np.dtype("bool" if (code, bits) == (_BOOL, 8) else f"{_KINDS[code]}{bits // 8}")
    except (KeyError, TypeError):
        small = bits < 16 and code not in (*_KINDS, _OPAQUE)
        raise ArgumentError(f"{said}; {TOO_SMALL if small else _NUMBERS}") from None
