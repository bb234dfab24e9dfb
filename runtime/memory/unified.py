"""UnifiedArray: a NumPy array whose memory a device uses in place: mapped (over the bus), or managed (it moves).

NumPy gives copies and results the class of their sources. Those are arrays like any other, with memory None; views of
the memory keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.runtime.memory.copies import Array, address_of
from gridjit.runtime.memory.space import Memory
from gridjit.runtime.queues.streams import stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike
    from gridjit.runtime.memory.device_array import DeviceArray


class UnifiedArray(np.ndarray[Any, Any]):
    """A NumPy array; also on the device, unless it is a copy or result of such an array.

    memory: the array's memory, or None. stream: the stream of its work, which consumers of its interface wait for.
    """

    memory: Memory | None
    stream: Any

    def __array_finalize__(self, made_from: Any) -> None:
        """Take over the memory of the source array, if this array is a view of it."""
        ours = isinstance(made_from, UnifiedArray)
        memory = made_from.memory if ours else None
        self.memory = memory if memory is not None and _is_in(self, memory) else None
        self.stream = made_from.stream if ours else 0

    @property
    def on_device(self) -> DeviceArray:
        """The array on the device over the same memory."""
        from gridjit.runtime.memory.device_array import DeviceArray

        if self.memory is None:
            raise AttributeError("this array is a copy in the host's own memory, which is not on any device")
        return DeviceArray(self.memory, self.view(np.ndarray), self.stream)

    def copy_to_host(self, ary: Array | None = None, stream: StreamLike = None) -> Array:
        """Return the items, copied in stream, as DeviceArray.copy_to_host does."""
        return self.on_device.copy_to_host(ary, stream)

    def copy_to_device(self, ary: Any, stream: StreamLike = None) -> None:
        """Copy ary into this array in stream, as DeviceArray.copy_to_device does."""
        self.on_device.copy_to_device(ary, stream)

    def split(self, section: int, stream: StreamLike = None) -> Iterator[DeviceArray]:
        """Yield arrays on the device over section items each, as DeviceArray.split does."""
        return self.on_device.split(section, stream)

    def bind(self, stream: StreamLike = 0) -> UnifiedArray:
        """Return the array with another stream to copy in."""
        bound = self.view()
        bound.stream = stream
        return bound

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface: host and device have the same addresses."""
        return self.on_device.__cuda_array_interface__ | {"stream": stream_handle(self.stream) or None}


class MappedArray(UnifiedArray):
    """A NumPy array in page-locked memory that kernels on a GPU use in place, over the bus."""


class ManagedArray(UnifiedArray):
    """A NumPy array whose memory moves to where it is used, the host or a GPU."""


def _is_in(array: np.ndarray[Any, Any], memory: Memory) -> bool:
    return memory.address <= address_of(array) < memory.address + memory.size
