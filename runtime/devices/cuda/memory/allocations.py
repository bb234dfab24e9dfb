"""Allocations: memory of a GPU, and of the host's for it, that is freed when the last array over it goes."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.compiler.values.errors import DeviceError, LaunchError
from gridjit.runtime.devices.cuda.api import timeline
from gridjit.runtime.devices.errors import DriverError
from gridjit.runtime.memory.space import Memory
from gridjit.runtime.queues.streams import Stream, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.devices.cuda.memory.space import CudaSpace


class Allocations:
    """Allocations on one device. space: the device's memory."""

    def __init__(self, device: CudaDevice, space: CudaSpace) -> None:
        self._device = device
        self._driver = device.driver
        self._space = space
        self._pool: MemoryPool | None = None
        self._making = lock()
        # Frees that would have broken a capture under way, and wait.
        self._waiting: deque[tuple[int, int, MemoryPool, Any]] = deque()

    def _pool_of(self, epoch: int) -> MemoryPool:
        """Return the pool of the context of that number."""
        if (pool := self._pool) is not None and pool.epoch == epoch:
            return pool
        with section(), self._making:
            if self._pool is None or self._pool.epoch != epoch:
                self._pool = MemoryPool(self._device, epoch)
            return self._pool

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes; raises DriverError if there are not enough, LaunchError while stream is captured."""
        if size == 0:
            return Memory(self._space, 0, 0)
        handle = stream_handle(stream)
        epoch = self._device.renew()
        with self._device.current:
            if self._driver.stream_capturing(handle):
                raise LaunchError("an array cannot be made while a stream is captured: make it before the capture")
            timeline.free_waiting()
            self._free_waiting()
            if (slab := self._device.slab) and slab.epoch == epoch and (address := slab.take(size)):
                return Memory(self._space, address, size, owner=stream, free=_nothing)
            pool = self._pool_of(epoch)
            address = pool.allocate(size, handle)
        # A stream that is only a number may be gone when the memory is freed.
        lasting = handle if handle <= 2 or not isinstance(stream, int) else 0
        give = functools.partial(self._free, address, lasting, pool, stream)
        return Memory(self._space, address, size, owner=stream, free=functools.partial(timeline.outside, give))

    def _free(self, address: int, handle: int, pool: MemoryPool, stream: Any) -> None:
        """Free memory; the garbage collector calls this at any time in any thread, so it takes no lock."""
        if isinstance(stream, Stream) and not stream.alive:
            handle = 0
        try:
            if self._driver.context_id(self._device.context) != pool.epoch:
                return  # the memory ended with its context, and its address may be another's by now
            with self._device.current:
                if self._driver.stream_capturing(handle):
                    self._waiting.append((address, handle, pool, stream))
                    return
                with self._driver.while_capturing():  # another stream, whose capture a free would break
                    pool.free(address, handle)
        except DriverError:
            pass  # the context is lost, and the memory with it

    def _free_waiting(self) -> None:
        for _ in range(len(self._waiting)):
            try:
                waiting = self._waiting.popleft()
            except IndexError:
                return
            self._free(*waiting)

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes of page-locked host memory."""
        epoch = self._device.renew()
        with self._device.current:
            address = self._driver.allocate_host(max(size, 1), mapped=mapped)
        return Memory(self._space, address, size, free=self._freeing(self._driver.free_host, address, epoch))

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes that move between host and device; raises DeviceError on devices without managed memory."""
        if not self._device.attribute("MANAGED_MEMORY"):
            raise DeviceError(f"{self._device!r} has no managed memory: use a mapped array, or copy with to_device()")
        epoch = self._device.renew()
        with self._device.current:
            address = self._driver.allocate_managed(max(size, 1), everywhere=attach_global)
        return Memory(self._space, address, size, free=self._freeing(self._driver.free, address, epoch))

    def _freeing(self, free: Callable[[int], None], address: int, epoch: int) -> Callable[[], None]:
        """Return a function that frees memory without a stream."""
        return functools.partial(timeline.outside, functools.partial(self._free_whole, free, address, epoch))

    def _free_whole(self, free: Callable[[int], None], address: int, epoch: int) -> None:
        """Free memory without a stream by a method of the driver's, after all work in the context."""
        try:
            if self._driver.context_id(self._device.context) != epoch:
                return
            with self._device.current, self._driver.while_capturing():
                free(address)
        except DriverError:
            pass  # the context is lost, and the memory with it


def _nothing() -> None:
    """Free memory of a slab: it is there until the context ends."""


# Freed memory that a device's pool keeps for the next allocation.
KEEP_BYTES = 64 << 20


class MemoryPool:
    """The pool of the device's context whose number is epoch."""

    def __init__(self, device: CudaDevice, epoch: int) -> None:
        self._device = device
        self._driver = device.driver
        self.epoch = epoch
        has_pools = bool(device.attribute("MEMORY_POOLS_SUPPORTED"))
        self._handle = self._driver.create_pool(device.ordinal, KEEP_BYTES) if has_pools else 0

    def allocate(self, size: int, stream: int) -> int:
        """Return size bytes for later work in stream; raises DriverError if there are not enough."""
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
        """Free memory after stream's work so far."""
        if self._handle:
            self._driver.free_in_stream(address, stream)
        else:
            self._driver.free(address)
