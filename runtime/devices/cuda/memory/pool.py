"""Pool: what a device's arrays are allocated from, in the order of streams where the device has pools.

The driver takes some 7 ms to get ready for pools in a context. A few arrays do without: they are allocated as on
devices that have none, in 0.1 ms. When there are more, a thread makes the pool while the program goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.forking import lock, section
from gridjit.runtime.devices.cuda.errors import DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# Freed memory that a device's pool keeps for the next allocation.
KEEP_BYTES = 64 << 20
# So many allocations are made without a pool before one is made.
FEW = 8


class Pool:
    """The pool of one context of a device, whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self._driver = device.driver
        self.epoch = epoch
        self._has_pools = bool(device.attribute("MEMORY_POOLS_SUPPORTED"))
        self._handle = 0
        self._plain = 0
        self._making = lock()

    @property
    def is_ready(self) -> bool:
        """Whether memory is allocated as it will be from now on."""
        return bool(self._handle) or not self._has_pools

    @property
    def is_wanted(self) -> bool:
        """Whether there were so many allocations that it is worth being made."""
        return self._plain >= FEW and not self.is_ready

    def allocate(self, size: int, stream: int) -> int:
        """Return size bytes for what comes later in stream; raises DriverError if there are not as many."""
        if not self._handle:
            self._plain += 1
            with self._driver.while_capturing():  # other streams
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
        """Free memory once stream has got to here. The driver does that for memory from before the pool, too."""
        if self._has_pools:
            self._plain = FEW  # the driver gets ready for pools by this
            self._driver.free_in_stream(address, stream)
        else:
            self._driver.free(address)

    def make_ready(self) -> None:
        """Make the pool, and use it once; where that fails, all memory is allocated without one."""
        with section(), self._making:
            if self.is_ready:
                return
            try:
                self._handle = self._made()
            except DriverError:
                self._has_pools = False

    def _made(self) -> int:
        driver = self._driver
        with self._device.current, driver.while_capturing():  # other streams
            made = driver.create_pool(self._device.ordinal, KEEP_BYTES)
            # In a stream that nothing waits for, and that waits for nothing.
            stream = driver.create_stream(nonblocking=True)
            try:
                driver.free_in_stream(driver.allocate_from_pool(1, made, stream), stream)
            finally:
                driver.destroy_stream(stream)
        return made
