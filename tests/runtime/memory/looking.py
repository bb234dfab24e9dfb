"""array_over: an array over what another library has, looked at as a StridedMemoryView looks at it."""

from __future__ import annotations

from typing import Any

from gridjit.runtime.arrays.foreign_over import host_memory, look_on_device, over_numpy
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.space import Space


def array_over(obj: Any, here: Space, stream: Any = 0) -> DeviceArray:
    """Return an array over the memory of obj, which it keeps alive; its producer's work comes before stream's.

    here: the current device's memory. stream: NO_ORDER does not wait; None waits on the host for what an interface
    names. Raises ArgumentError for what has no memory, or none that kernels could use.
    """
    if isinstance(obj, DeviceArray):
        return obj
    found = look_on_device(obj, here, stream)
    return over_numpy(host_memory(obj), obj) if found is None else found.over()
