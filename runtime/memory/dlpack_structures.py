"""DLPack's structures, as C lays them out, and their capsules.

Protocol: https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes

# DLPack's number of each of NumPy's kinds of numbers.
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
READ_ONLY, COPIED = 1, 2
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    """DLTensor. strides: in items, or null for a C-contiguous tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor, which a capsule called dltensor holds."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned, which a capsule called dltensor_versioned holds. flags: READ_ONLY, COPIED."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


# Prototypes of our own: all users share the argument types of ctypes.pythonapi's functions. A capsule that is being
# destroyed has no references to count, so they take its address.
_is_named = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def pointer_in(capsule: int, name: bytes) -> int:
    """Return the address in a capsule of that name; 0 if the object is another. capsule: the object's id."""
    return int(_pointer(capsule, name) or 0) if _is_named(capsule, name) else 0
