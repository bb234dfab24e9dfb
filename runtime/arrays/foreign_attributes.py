"""foreign_attributes: torch's tensors and CuPy's arrays, read by attributes, in a tenth of their interfaces' time.

An interface describes an array once. Another array with equal attributes differs only in its address.
"""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from gridjit.runtime.arrays.foreign_described import learn_description, made_by_description
from gridjit.runtime.arrays.foreign_over import Seen
from gridjit.runtime.memory.array_facts import Kind
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.foreign_alike import ADDRESS, ALIGNMENT
from gridjit.runtime.process.session import session
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.streams import LEGACY

# A view's parts: a function that makes its array on demand, its kind, and its launch parameters.
Made = tuple[Callable[[], DeviceArray], Kind, bytes]
# Returns an array's key without the address, and its address; None if attributes do not tell all.
_Read = Callable[[Any, int], tuple[Hashable, int] | None]

_MOST = 1024
_readers: dict[type, _Read] = {}
_known: dict[Hashable, tuple[Seen, Kind, bytes, bytes]] = {}


def made_by_attributes(obj: Any, stream: Any) -> Made | None:
    """Return a view of obj, if equal attributes were learnt; then its producer's work needs no wait.

    stream: the stream of the view's work: only the thread's current, 0, or none, -1.
    """
    read = _readers.get(type(obj))
    if read is None:
        return None
    if type(stream) is int and (made := made_by_description(obj, stream)) is not None:
        return made
    if (found := _found(read, obj, stream)) is None:
        return None
    key, address = found
    if (known := _known.get(key)) is None:
        return None
    seen, kind, head, tail = known
    return partial(_over, seen, obj, address), kind, head + address.to_bytes(8, sys.byteorder) + tail


def learn_by_attributes(obj: Any, stream: Any, seen: Seen, kind: Kind, parameters: bytes) -> None:
    """Learn from obj's array interface about arrays with obj's attributes."""
    read = _reader(type(obj))
    if read is None or seen.owner is not obj or not seen.array.address or 0 in seen.array.shape:
        return
    if (found := _found(read, obj, stream)) is None:
        return
    if found[1] != seen.array.address or seen.space.device != _device(obj):
        return
    if len(_known) >= _MOST:
        _known.clear()
    _readers[type(obj)] = read
    # Without obj itself, which may go.
    seen = dataclasses.replace(seen, owner=None)
    learn_description(obj, seen, kind)
    _known[found[0]] = (
        seen,
        kind,
        parameters[: ADDRESS.start],
        parameters[ADDRESS.stop :],
    )


def _found(read: _Read, obj: Any, stream: Any) -> tuple[Hashable, int] | None:
    """Return read's answer about obj, for the thread's current stream or without order; else None."""
    return read(obj, stream) if type(stream) is int and stream <= 0 else None


def _over(seen: Seen, obj: Any, address: int) -> DeviceArray:
    """Return an array over an address, like the seen array."""
    array = dataclasses.replace(seen.array, address=address)
    return dataclasses.replace(seen, array=array, owner=obj).over()


def _reader(python_type: type) -> _Read | None:
    """Return the reader of a type's attributes, None for unknown types."""
    name = python_type.__module__.partition(".")[0], python_type.__name__
    if name == ("torch", "Tensor"):
        return _read_tensor
    if name == ("cupy", "ndarray"):
        from gridjit.runtime.args.cupy import stream_function

        # A function without parameters ignores an argument.
        address = stream_function()
        their_stream = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)(address) if address else None
        return None if their_stream is None else partial(_read_cupy, their_stream)
    return None


def _device(obj: Any) -> int | None:
    """Return the number of obj's device."""
    device = obj.device  # torch's device has a number, CuPy's is a number
    return device.index if hasattr(device, "index") else int(device)


def _read_tensor(tensor: Any, _: int) -> tuple[Hashable, int] | None:
    """Return a torch tensor's key and address; its array interface names no stream to wait for."""
    try:
        if tensor.requires_grad or tensor.is_conj() or tensor.is_neg():
            return None
        address = tensor.data_ptr()
        shape, strides = tensor.shape, tensor.stride()
    except RuntimeError:  # a tensor without memory of its own, or without strides
        return None
    return (session(), tensor.dtype, shape, strides, tensor.device, address & ALIGNMENT), address


def _read_cupy(their_stream: Callable[[int], int], array: Any, stream: int) -> tuple[Hashable, int] | None:
    """Return a CuPy array's key and address; None if its work is in another stream than the view's."""
    if stream == 0 and (attention.chosen() or their_stream(0) not in (0, LEGACY)):
        return None
    data = array.data
    address = data.ptr
    return (session(), array.dtype, array.shape, array.strides, data.device_id, address & ALIGNMENT), address
