"""dlpack_export: a DeviceArray as a DLPack capsule, legacy or versioned (https://dmlc.github.io/dlpack/latest/c_api.html).

NumPy makes the capsule, of an array over the same address; the device, which NumPy cannot know, is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, shown, switch
from gridjit.runtime.memory.dlpack_structures import CODES, COPIED, Managed, ManagedVersioned, pointer_in
from gridjit.runtime.queues.streams import LEGACY, Stream, new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.memory.device_array import DeviceArray

_VERSION = (1, 0)
# NumPy before 2.1 makes legacy capsules only, which DLPack allows whatever the consumer's version.
_MAKES_VERSIONED = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


class _Held(np.ndarray[Any, Any]):
    """An array over a DeviceArray's memory, which keeps the DeviceArray for a capsule."""

    __slots__ = ("array",)


def export(
    array: DeviceArray,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a capsule over array's memory (copy=True: over a copy's).

    stream: the consumer's, by DLPack's numbers (None: the legacy default stream, -1: do not synchronize). Raises
    BufferError for another device, an item type that DLPack lacks, or a read-only array requested in the legacy form.
    """
    _check_pair("max_version", max_version, "(major, minor)")
    _check_pair("dl_device", dl_device, "(type, number)")
    if dl_device is not None and dl_device != array.__dlpack_device__():
        raise BufferError(f"the array is on device {array.__dlpack_device__()}, not on {dl_device}")
    given = array.copied() if copy is not None and switch("__dlpack__: copy", copy) else array
    versioned = _MAKES_VERSIONED and max_version is not None and max_version >= _VERSION
    _check_items(given)
    if not versioned and not given._ghost.flags.writeable:
        raise BufferError("a read-only array needs DLPack 1.0: max_version=(1, 0), and NumPy 2.1 or newer")
    _order(given, stream)
    held = given._ghost.view(_Held)
    held.array = given  # type: ignore[attr-defined]  # its slot
    capsule: Any = held.__dlpack__(max_version=_VERSION) if versioned else held.__dlpack__()
    kind, name = (ManagedVersioned, b"dltensor_versioned") if versioned else (Managed, b"dltensor")
    made: Any = kind.from_address(pointer_in(id(capsule), name))
    if versioned and copy:
        made.flags |= COPIED
    _place(made.tensor, given)
    return capsule


def _check_pair(name: str, given: object, parts: str) -> None:
    """Raise ArgumentError unless given is None or two whole numbers."""
    if given is None or (isinstance(given, tuple) and len(given) == 2 and all(isinstance(one, int) for one in given)):
        return
    raise ArgumentError(f"__dlpack__: {name}={shown(given)}: give None or {parts}, a tuple of two whole numbers")


def _check_items(array: DeviceArray) -> None:
    dtype = array.dtype
    if dtype.kind not in CODES or not dtype.isnative:
        raise BufferError(f"DLPack does not support items of {dtype}")
    if any(stride % dtype.itemsize for stride in array.strides):
        raise BufferError(f"strides {array.strides} are not whole items of {dtype.itemsize} bytes, as DLPack needs")


def _place(tensor: Any, array: DeviceArray) -> None:
    """Write an array's device into a tensor; without items, it has no address."""
    tensor.device_type, tensor.device_id = array.__dlpack_device__()
    if not array.size:
        tensor.data = None


def _order(array: DeviceArray, stream: Any) -> None:
    """Make the consumer's stream wait for the array's; a consumer of host memory has no stream: wait here."""
    if stream not in (None, -1):
        stream_handle(stream)  # refuses anything but a stream, also where it is not needed
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
