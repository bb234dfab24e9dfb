"""Buffer: bytes in a device's memory or the host's, allocated here or owned by another object, until it is closed.

Views and exports of a buffer keep its memory, so they stay valid after the buffer itself is closed.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, DeviceError, ShapeError, a_class
from gridjit.runtime.arrays.create import device_array
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.memory.space import HOST_SPACE, Memory, Space, Whereabouts
from gridjit.runtime.process.current import current_space, space_of
from gridjit.runtime.queues.streams import Stream, new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike

MemoryKind = Literal["device", "pinned", "managed"]
_BYTE = np.dtype(np.uint8)


class Buffer:
    """Bytes of memory. Made by Buffer.allocate and Buffer.from_handle; use it in a with block, or close it.

    It exports its bytes by DLPack, the CUDA array interface and, where the host can reach them, the array interface
    and the buffer protocol (memoryview(buffer) from Python 3.12 on, buffer.__buffer__(0) before). Use after close is a
    DeviceError that names the buffer. It cannot be pickled.
    """

    __slots__ = ("__weakref__", "_array", "_where", "size")

    def __init__(self, array: DeviceArray, where: Whereabouts) -> None:
        self._array: DeviceArray | None = array
        self._where = where
        self.size = array.size

    @classmethod
    def allocate(
        cls, size: int, stream: StreamLike = 0, *, kind: MemoryKind = "device", space: Space | None = None
    ) -> Buffer:
        """Return a new buffer of size bytes, its bytes not set, on the current device.

        stream: the stream that uses it; it is allocated and freed in that stream's order. kind: "device"; "pinned",
        host memory that the device copies by itself; "managed", which both use in place. Raises ArgumentError for a
        negative size or another kind, DriverError if there is not enough memory.

            with Buffer.allocate(1024) as buffer:
                buffer.fill(0)
        """
        count, here = _size(size), space or current_space()
        if kind == "device":
            return cls(device_array(count, _BYTE, stream=stream, space=here), here.new_memory)
        if kind not in ("pinned", "managed"):
            raise ArgumentError(f"kind={kind!r}: 'device', 'pinned' or 'managed'")
        memory = here.pinned(count, mapped=True) if kind == "pinned" else here.managed(count)
        return cls(_bytes(memory, stream), Whereabouts(device=memory.device, on_host=True, on_device=True))

    @classmethod
    def from_handle(
        cls, ptr: int, size: int, owner: Any = None, *, stream: StreamLike = 0, space: Space | None = None
    ) -> Buffer:
        """Return a buffer over size bytes at the address ptr, which gridjit never frees.

        owner: kept alive until the buffer is closed and all its views and exports are gone. stream: the stream that
        uses the memory. The driver, if there is one, says which device the memory is on. Raises ArgumentError for a
        negative size, and for bytes at address 0 or outside any address space.
        """
        address, count, here = _whole(ptr, "address"), _size(size), space or current_space()
        if not 0 <= address <= (1 << 64) - count or (count and not address):
            raise ArgumentError(f"from_handle: {count} bytes at address {address:#x} are not memory")
        where = here.whereabouts(address)
        if where.device is None:
            here = here if where.on_device else HOST_SPACE
        elif where.device != here.device:
            here = space_of(where.device)
        return cls(_bytes(Memory(here, address, count, owner=owner), stream), where)

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def array(self) -> DeviceArray:
        """Its bytes as an array of uint8; raises DeviceError if the buffer was closed."""
        if self._array is None:
            raise DeviceError(f"this buffer of {self.size} bytes was closed; its memory no longer belongs to it")
        return self._array

    @property
    def handle(self) -> int:
        """The address of the first byte; raises DeviceError if the buffer was closed."""
        return self.array.gpu_data.address

    @property
    def owner(self) -> Any:
        """The owner given to from_handle; raises DeviceError if the buffer was closed."""
        return self.array.gpu_data.owner

    @property
    def device(self) -> int | None:
        """The number of the GPU that the memory is on; None on the host."""
        return self._where.device

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read and write the bytes in place."""
        return self._where.on_host

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels of the current target can read and write the bytes in place."""
        return self._where.on_device

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._array is None

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        if self._array is None:
            return f"<gridjit buffer of {self.size} bytes, closed>"
        place = "host" if self.device is None else f"device {self.device}"
        return f"<gridjit buffer of {self.size} bytes on {place} at {self.handle:#x}>"

    # -- its end -----------------------------------------------------------------------------------------------------

    def close(self, stream: StreamLike = None) -> None:
        """Give up the memory; closing twice does no harm.

        stream: its earlier work is done before the memory is freed or reused. If this is not a stream, or a closed one,
        the buffer stays open.
        """
        array = self._array
        if array is not None and stream is not None:
            _follow(array, stream)
        self._array = None

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a buffer cannot be pickled; pickle a copy of its bytes")

    # -- copies ------------------------------------------------------------------------------------------------------

    def copy_to(self, destination: Buffer | None = None, *, stream: StreamLike = None) -> Buffer:
        """Copy the bytes into another buffer of equal size, from any memory to any; returns it.

        destination: None makes a new one in the same memory. stream: the stream to copy in; None: the destination's
        own. Raises ShapeError for another size, ArgumentError for anything but a buffer.
        """
        if destination is None:
            destination = Buffer.allocate(self.size, self.array.stream, space=self.array.space)
        _buffer(destination, "copy_to").copy_from(self, stream=stream)
        return destination

    def copy_from(self, source: Buffer, *, stream: StreamLike = None) -> None:
        """Copy source's bytes into this buffer.

        source: a buffer of equal size, else ShapeError. stream: the stream to copy in, as for copy_to.
        """
        if _buffer(source, "copy_from").size != self.size:
            raise ShapeError(f"copy_from: the buffer here has {self.size} bytes, the other {source.size}")
        self.array.copy_to_device(source.array, stream)

    def fill(self, value: int | bytes, *, stream: StreamLike = None) -> None:
        """Set every byte to value, 0 to 255; or repeat a pattern of 1, 2 or 4 bytes, which the size is a multiple of.

        value: an int is one byte; bytes and NumPy numbers stand for the bytes that they hold. stream:
        the stream to do it in, as for copy_to. Raises ArgumentError for another value or pattern.
        """
        pattern = _pattern(value)
        if self.size % len(pattern):
            raise ArgumentError(f"fill: {self.size} bytes are not a multiple of a pattern of {len(pattern)}")
        array = self.array
        ghost = array.view(np.dtype(f"u{len(pattern)}"))._ghost
        number, order = int.from_bytes(pattern, "little"), array._in(stream)
        fill = functools.partial(array.space.fill, ghost, number, order, (array.gpu_data,))
        if self.size and not array._recorded("fill", ghost, ghost.dtype.type(number), order, fill):
            fill()

    # -- protocols ---------------------------------------------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface; AttributeError for host memory where there is a GPU."""
        return self.array.__cuda_array_interface__

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's (device type, number)."""
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        """Return a DLPack capsule over the bytes, as DeviceArray does."""
        return self.array.__dlpack__(**asked)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Version 3 of the array interface; AttributeError for memory that the host cannot reach."""
        if not self.is_host_accessible:
            raise AttributeError("a buffer on a GPU has no __array_interface__; copy it to a buffer on the host")
        self.array.settle()
        data = (self.handle, False)
        return {"shape": (self.size,), "strides": None, "typestr": "|u1", "data": data, "version": 3}

    def __buffer__(self, flags: int) -> memoryview:
        """Return the bytes for the buffer protocol; BufferError for memory that the host cannot reach."""
        if not self.is_host_accessible:
            raise BufferError("a buffer on a GPU has no memory that the host can reach; copy it to one on the host")
        self.array.settle()
        memory = self.array.gpu_data
        return StridedLayout.dense((self.size,), 1).over(memory.address, _BYTE, owner=memory).data


def _bytes(memory: Memory, stream: Any) -> DeviceArray:
    """Return a piece of memory as an array."""
    return DeviceArray(memory, StridedLayout.dense((memory.size,), 1).over(memory.address, _BYTE), stream)


def _follow(array: DeviceArray, stream: Any) -> None:
    """Order the release of an array's memory after stream's work so far."""
    mine, theirs = stream_handle(array.stream), stream_handle(stream)
    if mine != theirs:
        timeline = array.space.timeline
        with new_event(timeline, timing=False) as event:
            timeline.record(event.handle, theirs)
            event.wait(Stream(timeline, mine, None))


def _buffer(given: Any, what: str) -> Buffer:
    """Return a given buffer; raises ArgumentError for anything else."""
    if not isinstance(given, Buffer):
        raise ArgumentError(
            f"{what}: {a_class(type(given))} is not a buffer; make one over its memory with "
            "Buffer.from_handle(ptr, size, owner=...), or copy between StridedMemoryViews"
        )
    return given


def _whole(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} {value!r}: not a whole number; give an int") from None


def _size(size: int) -> int:
    if (count := _whole(size, "size")) < 0:
        raise ArgumentError(f"a buffer cannot have {count} bytes; give 0 or more")
    return count


def _pattern(value: int | bytes) -> bytes:
    if isinstance(value, int):
        if not 0 <= value <= 255:
            raise ArgumentError(f"fill: {value} does not fit in a byte; give 0 to 255, or bytes")
        return bytes([value])
    try:
        pattern = memoryview(value).tobytes()
    except TypeError:
        raise ArgumentError(f"fill: {value!r} has no bytes; give an int from 0 to 255, or bytes") from None
    if len(pattern) not in (1, 2, 4):
        raise ArgumentError(f"fill: {value!r} is a pattern of {len(pattern)} bytes; give 1, 2 or 4, or an int")
    return pattern
