"""Space: a device's memory. The host's is defined here, so that the same program runs without a GPU."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np

from gridjit.base.values import dataclass
from gridjit.runtime.memory.copies import Array, address_of
from gridjit.runtime.queues.streams import Timeline, stream_handle
from gridjit.runtime.queues.timeline import HOST

# Up to so many bytes are copied before a write in a host stream returns, as in drivers.
_FEW_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """The users of memory. device: the number of the GPU that it is on; None: the host's.

    on_host, on_device: whether the host, and kernels of this target, use it in place.
    """

    device: int | None
    on_host: bool
    on_device: bool


class Memory:
    """A piece of memory: freed when the last array over it goes, or of an owner that is kept alive.

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
            self._free.atexit = False  # the process's end frees it, as the driver may be gone by then

    @property
    def is_own(self) -> bool:
        """Whether it was allocated here, and is freed here."""
        return self._free is not None

    @property
    def device_pointer(self) -> int:
        """The address, under numba-cuda's name."""
        return self.address

    @property
    def device(self) -> int | None:
        """The number of the GPU that the memory is on; None on the host."""
        return self.space.device

    def __reduce__(self) -> Any:
        raise TypeError(
            f"memory at {self.address:#x} cannot be pickled: an address means nothing to another process; pickle a "
            "copy of what is there (copy_to_host())"
        )


# The memory that a copy uses: memory allocated here is kept until the copy is made.
Owners: TypeAlias = tuple[Memory, ...]


class Space(Protocol):
    """A device's memory. A ghost is a NumPy array with the device's addresses, which only the space can read."""

    @property
    def device(self) -> int | None:
        """The number of the GPU; None for the host."""

    @property
    def timeline(self) -> Timeline:
        """The device's streams and events."""

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes, for later work in stream."""

    def write(self, ghost: Array, values: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy host values of the same shape and type into ghost. keep: the ghost's memory."""

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into a host array of the same shape and type."""

    def peek(self, ghost: Array, values: Array, stream: Any) -> bool:
        """Copy a few items as read does if no work of stream comes before that; returns whether it did.

        A captured stream is left alone, and so is an error that is still to be raised.
        """

    def read_later(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into a host array of the same shape and type before stream's next work."""

    def copy(self, destination: Array, source: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy one ghost into another of the same shape and type, both in this space. keep: their memory."""

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        """Copy a ghost of another space, in its own stream there, into a ghost here; False if only the host can."""

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes of host memory that the device copies from and to by itself."""

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes that host and device use in place; attach_global: any stream of any device may."""

    def pin(self, address: int, size: int) -> Callable[[], None]:
        """Page-lock host memory that exists already; returns the undo function."""

    def fill(self, ghost: Array, value: int, stream: Any, keep: Owners = ()) -> None:
        """Set all items of a C-contiguous ghost of unsigned numbers of 1, 2 or 4 bytes to value.

        keep: its memory.
        """

    @property
    def new_memory(self) -> Whereabouts:
        """The users of memory from allocate()."""

    def whereabouts(self, address: int) -> Whereabouts:
        """Return the users of the memory at an address."""


class HostSpace:
    """The host's own memory: a ghost here is an array that can be read."""

    device: int | None = None
    timeline: Timeline = HOST

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes, which count as the simulated device's; raises DriverError if it has not that many."""
        from gridjit.runtime.simulated.memory import hold, out_of_memory

        stream_handle(stream)
        held = _Held(hold(size))
        try:
            return _block(self, size, held)
        except MemoryError:
            raise out_of_memory(size) from None

    def write(self, ghost: Array, values: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy values into ghost; a few are read before this returns and written in the stream's order."""
        handle = stream_handle(stream)
        if HOST.queued(handle) and values.nbytes <= _FEW_BYTES and _are_own(keep):
            values = values.copy()
            HOST.give(handle, functools.partial(_copied, ghost, values, keep), brief=True)
        else:
            HOST.do(handle, lambda: np.copyto(ghost, values))

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into values in the stream's order, and wait for that."""
        HOST.do(stream_handle(stream), lambda: np.copyto(values, ghost))

    def peek(self, ghost: Array, values: Array, stream: Any) -> bool:
        """Copy ghost into values if the stream has neither work nor an error; returns whether it did."""
        if not HOST.at_rest(stream_handle(stream)):
            return False
        np.copyto(values, ghost)
        return True

    def read_later(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into values later, in the stream's order."""
        HOST.give(stream_handle(stream), lambda: np.copyto(values, ghost))

    def copy(self, destination: Array, source: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy source into destination in the stream's order; memory of other owners is copied when this returns."""
        order = HOST.give if _are_own(keep) else HOST.do
        order(stream_handle(stream), functools.partial(_copied, destination, source, keep))

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        """Return False: only the host can."""
        return False

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes: all host memory is equally near."""
        return _block(self, size)

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes: they do not move anywhere else."""
        return _block(self, size)

    def pin(self, address: int, size: int) -> Callable[[], None]:
        """Return a no-op."""
        return lambda: None

    def fill(self, ghost: Array, value: int, stream: Any, keep: Owners = ()) -> None:
        """Set all items in the stream's order; in memory of other owners, before this returns."""
        order = HOST.give if _are_own(keep) else HOST.do
        order(stream_handle(stream), functools.partial(_copied, ghost, value, keep))

    new_memory = Whereabouts(device=None, on_host=True, on_device=True)

    def whereabouts(self, address: int) -> Whereabouts:
        """Return that kernels and the host use the same memory: a GPU's memory cannot be recognized here."""
        return self.new_memory


def _copied(destination: Array, source: Array | int, keep: Owners) -> None:
    """Copy into destination; keep: the memory kept until then."""
    np.copyto(destination, source)


def _are_own(owners: Owners) -> bool:
    """Return whether memory was allocated here, so that it is only used in a stream's order."""
    return bool(owners) and all(owner.is_own for owner in owners)


class _Held:
    """A claim on the simulated device's memory, given back when it goes."""

    __slots__ = ("_give",)

    def __init__(self, give: Callable[[], None]) -> None:
        self._give = give

    def __del__(self) -> None:
        self._give()


def _block(space: HostSpace, size: int, held: _Held | None = None) -> Memory:
    """Return size bytes of this process's memory, kept until streams have done their work so far."""
    # A little more, for an address like CUDA's: a multiple of 256.
    block = np.zeros(size + 256, np.uint8)
    free = functools.partial(HOST.keep, (block, held))
    return Memory(space, -(-address_of(block) // 256) * 256, size, owner=block, free=free)


HOST_SPACE: Space = HostSpace()
