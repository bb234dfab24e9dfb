"""Space: a device's memory. The host's is defined here, so that the same program runs without a GPU."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gridjit.runtime.memory.copies import Array, address_of
from gridjit.runtime.streams import HOST, Timeline
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Who can use memory. device: the number of the GPU that it is on; None: the host's.

    on_host, on_device: whether the host, and kernels of this target, use it in place.
    """

    device: int | None
    on_host: bool
    on_device: bool


class Memory:
    """A piece of memory: freed when the last array over it goes, or owned by someone else who is kept alive.

    device: the number of the GPU that it is on; None on the host.
    """

    __slots__ = ("__weakref__", "_free", "address", "owner", "size", "space")

    def __init__(
        self, space: Space, address: int, size: int, *, owner: Any = None, free: Callable[[], None] | None = None
    ) -> None:
        self.space = space
        self.address = address
        self.size = size
        self.owner = owner
        self._free = None if free is None else weakref.finalize(self, free)
        if self._free is not None:
            self._free.atexit = False  # at exit the process's end frees it, when the driver may be gone already

    @property
    def device_pointer(self) -> int:
        """The address, under numba-cuda's name."""
        return self.address

    @property
    def device(self) -> int | None:
        """The number of the GPU that the memory is on; None on the host."""
        return self.space.device


class Space(Protocol):
    """A device's memory. A ghost is a NumPy array with the device's addresses, which only the space can read."""

    @property
    def device(self) -> int | None:
        """The number of the GPU; None for the host."""
        ...

    @property
    def timeline(self) -> Timeline:
        """The device's streams and events."""
        ...

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes, for use by what comes later in stream."""
        ...

    def write(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy host values of the same shape and type into ghost."""
        ...

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into a host array of the same shape and type."""
        ...

    def copy(self, destination: Array, source: Array, stream: Any) -> None:
        """Copy one ghost into another of the same shape and type, both in this space."""
        ...

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        """Copy a ghost of another space, in its own stream there, into one here; False if only the host can."""
        ...

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes of host memory that the device copies from and to by itself."""
        ...

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes that host and device use in place; attach_global: any stream of any device may."""
        ...

    def pin(self, address: int, size: int) -> Callable[[], None]:
        """Page-lock memory of the host's that exists already; returns what undoes it."""
        ...

    def fill(self, ghost: Array, value: int, stream: Any) -> None:
        """Set all items of a C-contiguous ghost of unsigned numbers of 1, 2 or 4 bytes to value."""
        ...

    @property
    def new_memory(self) -> Whereabouts:
        """Who can use what allocate() returns."""
        ...

    def whereabouts(self, address: int) -> Whereabouts:
        """Return who can use the memory at an address."""
        ...


class HostSpace:
    """The host's own memory: a ghost here is an array that can be read."""

    device: int | None = None
    timeline: Timeline = HOST

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes, which count as the simulated device's; raises DriverError if it has not that many."""
        from gridjit.runtime.simulated.memory import hold, out_of_memory

        give = hold(size)
        try:
            return _block(self, size, give)
        except MemoryError:
            give()
            raise out_of_memory(size) from None

    def write(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy values into ghost."""
        np.copyto(ghost, values)

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into values."""
        np.copyto(values, ghost)

    def copy(self, destination: Array, source: Array, stream: Any) -> None:
        """Copy source into destination."""
        np.copyto(destination, source)

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        """Return False: the host is the way."""
        return False

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes: all host memory is equally near."""
        return _block(self, size)

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes: they do not move anywhere else."""
        return _block(self, size)

    def pin(self, address: int, size: int) -> Callable[[], None]:
        """Return what undoes nothing."""
        return lambda: None

    def fill(self, ghost: Array, value: int, stream: Any) -> None:
        """Set all items."""
        ghost[...] = value

    new_memory = Whereabouts(device=None, on_host=True, on_device=True)

    def whereabouts(self, address: int) -> Whereabouts:
        """Return that kernels and the host use the same memory: what is on a GPU cannot be told from it here."""
        return self.new_memory


def _block(space: HostSpace, size: int, free: Callable[[], None] | None = None) -> Memory:
    """Return size bytes of this process's memory."""
    # A little more, so that the address can be what CUDA's would be: a multiple of 256.
    block = np.zeros(size + 256, np.uint8)
    return Memory(space, -(-address_of(block) // 256) * 256, size, owner=block, free=free)


HOST_SPACE: Space = HostSpace()
