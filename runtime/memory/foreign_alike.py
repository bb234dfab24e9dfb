"""foreign_alike: an array's launch parameters, known from an earlier array of the same layout and dtype.

They equal a DeviceArray's over the same memory: keys hold everything they depend on but the address.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.runtime.memory.array_facts import Kind
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.foreign_array import ForeignArray
from gridjit.runtime.native.layout.probes import object_layout, offsets_of, word

Array = np.ndarray[Any, Any]

# NumPy's own dtypes, one object each: their identity tells them apart.
_PLAIN = {id(dtype): dtype for dtype in map(np.dtype, "?bBhHiIlLqQefdFD")}
_MOST = 1024
# The fifth word of an array's launch parameters is the address.
ADDRESS = slice(32, 40)
# The largest alignment of arrays, less one.
ALIGNMENT = 63
_word = ctypes.c_uint64
_known: dict[Hashable, tuple[Kind, bytes, bytes]] = {}


def numpy_key(array: Array) -> Hashable:
    """Return the key of a NumPy array's kind and parameters, without its address; None if there is none."""
    dtype = id(array.dtype)
    return (dtype, array.shape, array.strides, array.flags.num) if dtype in _PLAIN else None


def foreign_key(array: ForeignArray, device: int | None) -> Hashable:
    """Return the key of a foreign array; None without items, as such an array has an address of its own."""
    dtype = id(array.dtype)
    if dtype not in _PLAIN or 0 in array.shape:
        return None
    return (dtype, array.shape, array.strides, array.writable, array.address & ALIGNMENT, device)


def kind_and_parameters(key: Hashable, address: int) -> tuple[Kind, bytes] | None:
    """Return the kind and parameters for an array of a key at an address; None if its key is not known yet."""
    found = _known.get(key)
    if found is None:
        return None
    kind, head, tail = found
    return kind, head + address.to_bytes(8, sys.byteorder) + tail


def learn(key: Hashable, made: DeviceArray) -> None:
    """Make arrays of this key known by one of them."""
    if key is None:
        return
    if len(_known) >= _MOST:
        _known.clear()
    parameters = made._parameters
    _known[key] = made._kind, parameters[: ADDRESS.start], parameters[ADDRESS.stop :]


def numpy_kind_and_parameters(array: Array) -> tuple[Kind, bytes] | None:
    """Return the kind and parameters of a NumPy array, at top speed."""
    found = _known.get((id(array.dtype), array.shape, array.strides, array.flags.num))
    if found is None or (at := _address_at()) is None:
        return None
    kind, head, tail = found
    return kind, head + _word.from_address(id(array) + at).value.to_bytes(8, sys.byteorder) + tail


@functools.cache
def _address_at() -> int | None:
    """Return the offset of an array's address in NumPy's object, found in some arrays; None if it is not clear."""
    if object_layout() is None:
        return None
    samples: list[Any] = [np.zeros(size, np.uint8)[1:] for size in (7, 300, 5000)]
    found = offsets_of(np.ndarray.__basicsize__, [(array, word(address_of(array))) for array in samples])
    return found[0] if len(found) == 1 else None
