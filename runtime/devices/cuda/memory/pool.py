"""MemoryPool: what a device's arrays are allocated from, in the order of streams where the device has pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.runtime.devices.cuda.errors import DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# Freed memory that a device's pool keeps for the next allocation.
KEEP_BYTES = 64 << 20


class MemoryPool:
    """The pool of one context of a device, whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self._driver = device.driver
        self.epoch = epoch
        has_pools = bool(device.attribute("MEMORY_POOLS_SUPPORTED"))
        self._handle = self._driver.create_pool(device.ordinal, KEEP_BYTES) if has_pools else 0

    def allocate(self, size: int, stream: int) -> int:
        """Return size bytes for what comes later in stream; raises DriverError if there are not as many."""
        if not self._handle:
            return self._driver.allocate(size)
        try:
            return self._driver.allocate_from_pool(size, self._handle, stream)
        except DriverError as error:
            if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
        self._device.timeline.synchronize_all()
        self._driver.trim_pool(self._handle)
        return self._driver.allocate_from_pool(size, self._handle, stream)

    def free(self, address: int, stream: int) -> None:
        """Free memory once stream has got to here."""
        if self._handle:
            self._driver.free_in_stream(address, stream)
        else:
            self._driver.free(address)
