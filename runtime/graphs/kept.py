"""kept: the memory of gridjit's arrays that nodes keep, which must not be reused before the nodes have run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.space import Memory
from gridjit.runtime.memory.strided_view import StridedMemoryView


def memory_in(kept: Any) -> Iterator[Memory]:
    """Yield the memory of the own arrays and views in tuples and lists, within each other."""
    if isinstance(kept, list | tuple):
        for part in kept:
            yield from memory_in(part)
    elif isinstance(kept, DeviceArray):
        yield kept.gpu_data
    elif isinstance(kept, StridedMemoryView):
        yield kept._array.gpu_data
