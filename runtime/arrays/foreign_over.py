"""foreign_over: one way to read arrays of other owners: a DeviceArray over the memory, which keeps its owner.

If an object supports several protocols, the first of these is used: gridjit's own arrays, NumPy's, the CUDA array
interface, DLPack, the array interface, the buffer protocol. A launch reads them in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.dlpack_import import (
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    NO_ORDER,
    Consumed,
    device_of,
    exported,
)
from gridjit.runtime.memory.foreign_array import ForeignArray, read_interface
from gridjit.runtime.memory.host_objects import host_array
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.memory.space import HOST_SPACE, Memory, Space
from gridjit.runtime.process.current import space_of
from gridjit.runtime.queues.chosen import said_or_current
from gridjit.runtime.queues.streams import LEGACY, Stream, new_event, stream_handle


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A foreign object, read once: its array, the array's memory, and its owner."""

    array: ForeignArray
    space: Space
    owner: Any
    stream: Any

    def over(self) -> DeviceArray:
        """Return an array over it."""
        array, layout = self.array, self.array.layout
        ghost = layout.over(array.address, array.dtype)
        ghost.flags.writeable = array.writable
        low, high = layout.extent
        return DeviceArray(Memory(self.space, array.address + low, high - low, owner=self.owner), ghost, self.stream)


def host_memory(obj: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy array over host memory; raises ArgumentError for an object without memory."""
    if (array := host_array(obj)) is None:
        raise ArgumentError(
            f"{a_class(type(obj))} has no memory to look at: it has neither __cuda_array_interface__, __dlpack__ or "
            "__array_interface__ nor the buffer protocol"
        )
    return array


def over_device_memory(obj: Any, here: Space, stream: Any = 0) -> DeviceArray | None:
    """Return an array over obj's export by the CUDA array interface or DLPack; None if it has neither."""
    found = look_on_device(obj, here, stream)
    return None if found is None else found.over()


def look_on_device(obj: Any, here: Space, stream: Any = 0) -> Seen | None:
    """Return obj's export by one of them; all that may fail, or wait for its producer, is done by then."""
    if type(obj) is np.ndarray:
        return None
    if (interface := _attribute(obj, "__cuda_array_interface__")) is not None:
        return _seen_by_interface(obj, interface, here, stream)
    if not isinstance(obj, np.ndarray | np.generic) and _attribute(obj, "__dlpack_device__") is not None:
        return _seen_by_dlpack(obj, here, stream)
    return None


def over_interface(obj: Any, interface: dict[str, Any], here: Space, stream: Any = 0) -> DeviceArray:
    """Return an array over a CUDA array interface's memory; raises ArgumentError if it is not usable here."""
    return _seen_by_interface(obj, interface, here, stream).over()


def _seen_by_interface(obj: Any, interface: dict[str, Any], here: Space, stream: Any) -> Seen:
    array = read_interface(interface)
    if here.device is None and presence.device_count():
        raise ArgumentError(
            f"{a_class(type(obj))} has its data on a CUDA device, and arrays are on the "
            "host here (GRIDJIT_TARGET); copy it to the host first"
        )
    if array.stream is not None:
        _order(here, array.stream, stream)
    return _seen(array, here, obj, stream)


def over_dlpack(obj: Any, here: Space, stream: Any = 0) -> DeviceArray:
    """Return an array over obj's export by DLPack; raises ArgumentError if it is not usable here."""
    return _seen_by_dlpack(obj, here, stream).over()


def _seen_by_dlpack(obj: Any, here: Space, stream: Any) -> Seen:
    device_type, device_id = device_of(obj)
    space = _space(obj, device_type, device_id, here)
    array, capsule = exported(obj, NO_ORDER if _without_order(stream) else stream_handle(stream))
    return _seen(array, space, Consumed(capsule), stream)


def over_numpy(array: np.ndarray[Any, Any], owner: Any) -> DeviceArray:
    """Return an array over a NumPy array's memory, on the host."""
    _refuse_objects(array.dtype)
    low, high = StridedLayout.of(array).extent
    return DeviceArray(Memory(HOST_SPACE, address_of(array) + low, high - low, owner=owner), array.view())


def _seen(array: ForeignArray, space: Space, owner: Any, stream: Any) -> Seen:
    _refuse_objects(array.dtype)
    return Seen(array=array, space=space, owner=owner, stream=_own(stream))


def _refuse_objects(dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise ArgumentError(f"items of {dtype} are Python objects, which kernels cannot use")


def _order(space: Space, theirs: int, stream: Any) -> None:
    """Make later work in stream wait for their stream's work so far; None: wait here."""
    if _without_order(stream):
        return
    if stream is None:
        space.timeline.synchronize(theirs)
        return
    timeline = space.timeline
    mine = stream_handle(said_or_current(stream, timeline)) or LEGACY
    if theirs != mine:
        with new_event(timeline, timing=False) as event:
            timeline.record(event.handle, theirs)
            event.wait(Stream(timeline, mine, None))


def _without_order(stream: Any) -> bool:
    return isinstance(stream, int) and stream == NO_ORDER


def _own(stream: Any) -> Any:
    """Return the stream of later copies."""
    return 0 if stream is None or _without_order(stream) else stream


def _space(obj: Any, device_type: int, device_id: int, here: Space) -> Space:
    """Return the memory of a DLPack device."""
    if device_type == CPU:
        return HOST_SPACE
    if device_type in (CUDA_HOST, CUDA_MANAGED):
        return here  # memory of both
    if device_type != CUDA:
        raise ArgumentError(
            f"{a_class(type(obj))} is on DLPack device ({device_type}, {device_id}); gridjit knows memory of the host "
            "and of CUDA devices; copy it to the host first"
        )
    if here.device is None:
        raise ArgumentError(
            f"{a_class(type(obj))} has its data on CUDA device {device_id}, and arrays are on the host here; copy it "
            "to the host first"
        )
    return here if here.device == device_id else space_of(device_id)


def _attribute(obj: Any, name: str) -> Any:
    """Return an attribute, None if it is absent now: tensors raise other errors than AttributeError."""
    try:
        return getattr(obj, name, None)
    except Exception as error:
        let_through(error)
        if hasattr(type(obj), "__dlpack__"):
            return None  # DLPack remains
        raise ArgumentError(f"{a_class(type(obj))} does not give its {name}: {error}") from error
