"""CudaRooms: the memory of a context that machine code copies host arrays through, kept from launch to launch.

A room is made when all are taken, up to a number of rooms; it ends with its context.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING

from gridjit.base.forking import lock, section
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.api.calls import attributed
from gridjit.runtime.devices.cuda.api.plain_api import ResultCode
from gridjit.runtime.devices.errors import DriverError
from gridjit.runtime.native.last_launches import last_launches
from gridjit.runtime.native.layout.staging_records import MAX_ROOMS, ROOM_BYTES, RoomRecord, RoomsRecord

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.memory.space import Memory
    from gridjit.runtime.native.layout.staging_records import Rooms


class CudaRooms:
    """The rooms of a device's context, whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self.epoch = epoch
        self._memory: list[tuple[Memory, ctypes.Array[ctypes.c_char]]] = []
        self._growing = lock()
        find = device.driver.entry_point
        self._record = RoomsRecord(
            copy_in=find("cuMemcpyHtoDAsync"),
            copy_out=find("cuMemcpyDtoHAsync"),
            synchronize=find("cuStreamSynchronize"),
            capturing=find("cuStreamIsCapturing"),
            move=ctypes.cast(ctypes.CDLL(None).memmove, ctypes.c_void_p).value,
            bytes=ROOM_BYTES,
        )

    @property
    def address(self) -> int:
        """The address of the record."""
        return ctypes.addressof(self._record)

    def grow(self, stream: int) -> bool:
        """Add a room, if all are taken, more are allowed, and there is memory; return whether there is any.

        stream: the stream of a launch that was waited for, so that the wait is short.
        """
        with section(), self._growing, contextlib.suppress(DriverError):
            count = self._record.count
            if count < MAX_ROOMS and all(room.taken for room in self._record.rooms[:count]):
                self._record.rooms[count] = self._room(stream)
                # Machine code reads so many rooms, without the lock.
                self._record.count = count + 1
        return bool(self._record.count)

    def _room(self, stream: int) -> RoomRecord:
        memory = self._device.space.allocate(ROOM_BYTES, stream)
        # Then streams that are not ordered with this stream may use it.
        self._device.timeline.synchronize(stream)
        here = ctypes.create_string_buffer(ROOM_BYTES)
        self._memory.append((memory, here))
        return RoomRecord(here=ctypes.addressof(here), there=memory.address)

    def fail(self, code: int, kernel: str, config: LaunchConfig, stream: int) -> None:
        """Raise the error of a code that the driver returned after a launch."""
        last_launches.note(kernel, config, stream, self._device.ordinal)
        with attributed(stream, self._device.ordinal):
            raise self._device.driver.error("cuStreamSynchronize", ResultCode(code))


if TYPE_CHECKING:
    _rooms: type[Rooms] = CudaRooms
