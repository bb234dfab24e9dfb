"""Context: the one context of a simulated device, under numba-cuda's names.

It answers the most common questions without importing numba. For the rest (raw allocations, memory managers),
numba-cuda's own context of the same device is used, over the simulated driver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex

from gridjit.compiler.values.errors import ArgumentError, shown
from gridjit.runtime.devices.errors import driver_error
from gridjit.runtime.environment.models import active_blocks
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.queues.streams import LEGACY, PER_THREAD, Event, Stream, new_event, new_stream
from gridjit.runtime.queues.timeline import HOST
from gridjit.runtime.simulated import current, memory
from gridjit.runtime.simulated.driver import context_handle

if TYPE_CHECKING:
    from gridjit.runtime.numba_names.simulated_devices import SimulatedDevice


class Context:
    """A simulated device's context. handle: a number for it."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device
        self.handle = context_handle(device.ordinal)

    def get_memory_info(self) -> memory.MemoryInfo:
        """Return (free, total) bytes: free is less by the device's arrays, and never more than this computer has."""
        return memory.info(self.device.ordinal)

    def push(self) -> None:
        """Make the device the calling thread's, until it is popped."""
        current.push(self.device.ordinal)

    def pop(self) -> None:
        """Restore the thread's device before this device; raises DeviceError if this is not the current device."""
        if not current.is_chosen() or current.ordinal() != self.device.ordinal:
            raise driver_error(
                "the simulated device", "CUDA_ERROR_INVALID_CONTEXT", f"{self!r} is not current", code=201
            )
        current.pop()

    def prepare_for_use(self) -> None:
        """Return: it is ready."""

    def reset(self) -> None:
        """Clear the context's state; arrays stay, as they are this process's memory."""
        HOST.settle()
        current.forget(self.device.ordinal)

    def synchronize(self) -> None:
        """Wait for all streams; raises the first error."""
        HOST.synchronize_all()

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Do nothing: freeing the host's memory waits for nothing."""
        yield

    # -- streams and events ------------------------------------------------------------------------------------------

    def create_stream(self) -> Stream:
        """Return a new stream."""
        return new_stream(HOST)

    def create_event(self, timing: bool = True) -> Event:
        """Return a new event."""
        return new_event(HOST, timing=timing)

    def create_external_stream(self, ptr: int) -> Stream:
        """Return a stream that another library owns, by its handle."""
        if not isinstance(ptr, int):
            raise TypeError("ptr for external stream must be an int")
        return Stream(HOST, ptr, None)

    def get_default_stream(self) -> Stream:
        """Return the default stream."""
        return Stream(HOST, 0, None)

    def get_legacy_default_stream(self) -> Stream:
        """Return the default stream by its other handle."""
        return Stream(HOST, LEGACY, None)

    def get_per_thread_default_stream(self) -> Stream:
        """Return the calling thread's own default stream."""
        return Stream(HOST, PER_THREAD, None)

    # -- other devices, and kernels ----------------------------------------------------------------------------------

    def can_access_peer(self, peer_device: int) -> bool:
        """Return whether another device's memory may be used from here: any other simulated device's may."""
        return current.can_access(self.device.ordinal, int(peer_device), settings().host_devices)

    def enable_peer_access(self, peer_context: Any, flags: int = 0) -> None:
        """Use the memory of another context's device; raises DriverError if it is used already, or is this device's."""
        assert flags == 0, "*flags* is reserved and MUST be zero"
        handle = peer_context.handle if isinstance(peer_context, Context) else int(peer_context)
        other = handle - context_handle(0)
        if not self.can_access_peer(other):
            raise driver_error("cuCtxEnablePeerAccess", "CUDA_ERROR_INVALID_DEVICE", f"{other} is not a peer", code=101)
        if not current.enable(self.device.ordinal, other):
            raise driver_error("cuCtxEnablePeerAccess", "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "", code=704)

    def get_active_blocks_per_multiprocessor(self, func: Any, blocksize: int, memsize: int, flags: Any = None) -> int:
        """Return how many blocks of so many threads and bytes a multiprocessor holds; func is not read."""
        for name, value in (("blocksize", blocksize), ("memsize", memsize)):
            if not isinstance(value, SupportsIndex):
                raise ArgumentError(
                    f"get_active_blocks_per_multiprocessor({name}={shown(value)}): give a whole number of "
                    f"{'threads' if name == 'blocksize' else 'bytes'}"
                )
        return active_blocks(self.device.model, int(blocksize), int(memsize))

    def get_max_potential_block_size(
        self, func: Any, b2d_func: Any, memsize: int, blocksizelimit: int, flags: Any = None
    ) -> tuple[int, int]:
        """Return 0 (success) and a block's size: the largest there is, or the limit."""
        most = self.device.attribute("MAX_THREADS_PER_BLOCK")
        return 0, min(most, blocksizelimit or most)

    # -- the rest ----------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of numba-cuda's context of the device (memalloc, mempin, deallocations, modules, ...)."""
        if name.startswith("__"):
            raise AttributeError(name)
        from gridjit.runtime.simulated import under_numba

        return getattr(under_numba.context(self.device.ordinal), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<CUDA context {self.handle:#x} of {self.device!r}>"
