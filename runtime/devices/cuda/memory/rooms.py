"""CudaRooms: the memory of a context that machine code copies arrays of the host's through, kept from launch to launch.

A room is made when all are taken, up to a number of them; it ends with its context.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING

from gridjit.compiler.launch_config import LaunchConfig
from gridjit.forking import lock, section
from gridjit.runtime.devices.cuda.errors import DriverError
from gridjit.runtime.devices.cuda.last_launched import attributed
from gridjit.runtime.devices.cuda.plain.api import Code
from gridjit.runtime.native.last_launches import last_launches
from gridjit.runtime.native.staging.records import MAX_ROOMS, ROOM_BYTES, RoomRecord, RoomsRecord

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.memory.space import Memory
    from gridjit.runtime.native.staging.records import Rooms


class CudaRooms:
    """The rooms of a device's context, whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self.epoch = epoch
        self._memory: list[Memory] = []
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
        """The address of the record, with a room at least; 0 if there is no memory for one."""
        self.grow()
        return ctypes.addressof(self._record) if self._record.count else 0

    def grow(self) -> None:
        """Make another room, if all are taken and there may be more, and there is memory for it."""
        with section(), self._growing, contextlib.suppress(DriverError):
            count = self._record.count
            if count < MAX_ROOMS and all(room.taken for room in self._record.rooms[:count]):
                self._record.rooms[count] = self._room()
                # Machine code looks at so many, without the lock.
                self._record.count = count + 1

    def _room(self) -> RoomRecord:
        device, driver = self._device, self._device.driver
        # In the order of a stream that nothing waits for, so that all streams may use it when this returns.
        stream = device.timeline.create_stream(nonblocking=True)
        try:
            memory = device.space.allocate(ROOM_BYTES, stream)
            device.timeline.synchronize(stream)
        finally:
            device.timeline.destroy_stream(stream)
        with device.current, driver.while_capturing():  # another stream
            here = driver.allocate_host(ROOM_BYTES)
        self._memory.append(memory)
        return RoomRecord(here=here, there=memory.address)

    def fail(self, code: int, kernel: str, config: LaunchConfig, stream: int) -> None:
        """Raise what the driver's code says, which it told after a launch was made."""
        last_launches.note(kernel, config, stream, self._device.ordinal)
        with attributed(stream, self._device.ordinal):
            raise self._device.driver.error("cuStreamSynchronize", Code(code))


if TYPE_CHECKING:
    _rooms: type[Rooms] = CudaRooms
