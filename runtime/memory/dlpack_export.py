"""dlpack_export: a DeviceArray as a DLPack capsule, legacy or versioned (https://dmlc.github.io/dlpack/latest/c_api.html)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from gridjit.compiler.errors import ArgumentError, shown, switch
from gridjit.runtime.memory.dlpack_structures import (
    CODES,
    COPIED,
    READ_ONLY,
    Deleter,
    Managed,
    ManagedVersioned,
    Tensor,
    pointer_in,
)
from gridjit.runtime.streams import LEGACY, Stream, new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.memory.device_array import DeviceArray

_VERSION = (1, 0)

# What consumers hold, by the address they were given: the structure, its dimensions, and the array.
_held: dict[int, tuple[Any, ...]] = {}


def export(
    array: DeviceArray,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a capsule over array's memory (copy=True: over a copy's).

    stream: the consumer's, as DLPack numbers them (None: the legacy default stream, -1: do not synchronize). Raises
    BufferError for another device, an item type that DLPack lacks, or a read-only array requested in the legacy form.
    """
    _check_pair("max_version", max_version, "(major, minor)")
    _check_pair("dl_device", dl_device, "(type, number)")
    if dl_device is not None and dl_device != array.__dlpack_device__():
        raise BufferError(f"the array is on device {array.__dlpack_device__()}, not on {dl_device}")
    given = array.copied() if copy is not None and switch("__dlpack__: copy", copy) else array
    versioned = max_version is not None and max_version >= _VERSION
    read_only = not given.flags["WRITEABLE"]
    if read_only and not versioned:
        raise BufferError("a read-only array needs DLPack 1.0: ask with max_version=(1, 0)")
    tensor, dimensions = _tensor(given)
    _order(given, stream)
    if not versioned:
        return _capsule(Managed(tensor=tensor, deleter=_delete), (dimensions, given), b"dltensor")
    flags = (READ_ONLY if read_only else 0) | (COPIED if copy else 0)
    made = ManagedVersioned(major=_VERSION[0], minor=_VERSION[1], deleter=_delete, flags=flags, tensor=tensor)
    return _capsule(made, (dimensions, given), b"dltensor_versioned")


def _check_pair(name: str, given: object, parts: str) -> None:
    """Raise ArgumentError unless given is None or two whole numbers."""
    if given is None or (isinstance(given, tuple) and len(given) == 2 and all(isinstance(one, int) for one in given)):
        return
    raise ArgumentError(f"__dlpack__: {name}={shown(given)}: give None or {parts}, a tuple of two whole numbers")


def _tensor(array: DeviceArray) -> tuple[Tensor, Any]:
    dtype, ndim = array.dtype, array.ndim
    if dtype.kind not in CODES or not dtype.isnative:
        raise BufferError(f"DLPack does not support items of {dtype}")
    if any(stride % dtype.itemsize for stride in array.strides):
        raise BufferError(f"strides {array.strides} are not whole items of {dtype.itemsize} bytes, as DLPack needs")
    steps = [stride // dtype.itemsize for stride in array.strides]
    dimensions = (ctypes.c_int64 * (2 * ndim))(*array.shape, *steps)
    shape = ctypes.cast(dimensions, ctypes.POINTER(ctypes.c_int64))
    strides = ctypes.cast(ctypes.addressof(dimensions) + 8 * ndim, ctypes.POINTER(ctypes.c_int64))
    device_type, device_id = array.__dlpack_device__()
    tensor = Tensor(
        data=array.data if array.size else None,
        device_type=device_type,
        device_id=device_id,
        ndim=ndim,
        code=CODES[dtype.kind],
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=shape,
        strides=strides,
        byte_offset=0,
    )
    return tensor, dimensions


def _order(array: DeviceArray, stream: Any) -> None:
    """Let the consumer's stream wait for the array's; of the host's memory, the consumer has no stream: wait here."""
    if stream not in (None, -1):
        stream_handle(stream)  # which refuses what is not one, also where it is not needed
    if array.device is None:
        array.settle()
    if array.device is None or stream == -1:
        return
    if stream == 0:
        raise BufferError("stream 0 is ambiguous in DLPack: 1 is the legacy default stream, 2 the thread's own")
    consumer = LEGACY if stream is None else stream_handle(stream)
    if (stream_handle(array.stream) or LEGACY) != consumer:
        timeline = array.space.timeline
        with new_event(timeline, timing=False) as event:
            timeline.record(event.handle, stream_handle(array.stream))
            event.wait(Stream(timeline, consumer, None))


def _forget(address: int) -> None:
    _held.pop(address, None)


# Called by the consumer when it is done.
_delete = Deleter(_forget)


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
# Prototypes of our own: the argument types of ctypes.pythonapi's functions are shared by all who use them.
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
# A capsule keeps only the pointer to its name, so the names live as long as the module.
_NAMES = {name: ctypes.create_string_buffer(name) for name in (b"dltensor", b"dltensor_versioned")}


def _unconsumed(capsule: int) -> None:
    """A capsule that nobody consumed still has its name: what it holds goes with it."""
    for name in _NAMES:
        _held.pop(pointer_in(capsule, name), None)


_drop = _Destructor(_unconsumed)


def _capsule(structure: Any, parts: tuple[Any, ...], name: bytes) -> Any:
    address = ctypes.addressof(structure)
    _held[address] = (structure, *parts)
    named = ctypes.cast(_NAMES[name], ctypes.c_char_p)
    return _new(address, named, ctypes.cast(_drop, ctypes.c_void_p))
