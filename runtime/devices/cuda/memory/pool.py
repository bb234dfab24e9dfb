"""Pool: what a device's arrays are allocated from, in the order of streams where the device has pools.

The driver takes some 7 ms to allocate from a pool the first time in a context. A thread has it do that while the
program goes on; until then, memory is allocated as it is without pools, which takes the driver 0.1 ms. Either is freed
in the order of a stream.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from gridjit.forking import lock, section
from gridjit.runtime.devices.cuda.errors import DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# Freed memory that a device's pool keeps for the next allocation.
KEEP_BYTES = 64 << 20


class Pool:
    """The pool of one context of a device, whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self._driver = device.driver
        self.epoch = epoch
        self._has_pools = bool(device.attribute("MEMORY_POOLS_SUPPORTED"))
        self._handle = 0
        self._making = lock()
        if self._has_pools:
            self._warm_beside()

    def allocate(self, size: int, stream: int) -> int:
        """Return size bytes for what comes later in stream; raises DriverError if there are not as many."""
        if not self._handle:
            try:
                with self._driver.while_capturing():  # other streams
                    return self._driver.allocate(size)
            except DriverError as error:
                if error.name != "CUDA_ERROR_OUT_OF_MEMORY" or not self._has_pools:
                    raise
            self._warm()  # only pools tell what was freed in streams
        return self._allocate_from_pool(size, stream)

    def _allocate_from_pool(self, size: int, stream: int) -> int:
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
        if self._has_pools:
            self._driver.free_in_stream(address, stream)
        else:
            self._driver.free(address)

    def _warm_beside(self) -> None:
        """Have the pool made and used once by a thread, which the process's end waits for."""
        try:
            threading.Thread(target=self._warm_quietly, name="gridjit pool").start()
        except RuntimeError:  # there are no new threads while the interpreter ends, or no more
            self._warm()

    def _warm_quietly(self) -> None:
        with contextlib.suppress(DriverError):  # memory goes on being allocated without it
            self._warm()

    def _warm(self) -> None:
        with section(), self._making:
            if self._handle:
                return
            driver = self._driver
            with self._device.current, driver.while_capturing():  # other streams
                made = driver.create_pool(self._device.ordinal, KEEP_BYTES)
                # In a stream that nothing waits for, and that waits for nothing.
                stream = driver.create_stream(nonblocking=True)
                try:
                    driver.free_in_stream(driver.allocate_from_pool(1, made, stream), stream)
                finally:
                    driver.destroy_stream(stream)
            self._handle = made
