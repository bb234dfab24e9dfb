"""CudaSpace: a GPU's memory, taken from a pool in the order of a stream where the device has pools."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.base.forking import cached_property
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import LaunchError
from gridjit.runtime.devices.cuda.api.calls import attributed
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.api.memory_calls import AT_ONCE_BYTES
from gridjit.runtime.devices.cuda.memory.allocations import Allocations
from gridjit.runtime.memory.copies import (
    Array,
    Rows,
    address_of,
    copies_between,
    plan,
    plan_between,
    run_between,
    straightening,
    without_repeats,
)
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.memory.space import Memory, Owners, Whereabouts
from gridjit.runtime.queues.streams import Stream, new_event, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.api.copy_kernels import CopyKernels
    from gridjit.runtime.devices.cuda.api.timeline import CudaTimeline
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.devices.cuda.memory.rooms import CudaRooms
    from gridjit.runtime.devices.cuda.memory.staged import Blocks
    from gridjit.runtime.memory.space import Space

# Without kernels: the most pitched copies within the device before the copy goes through the host.
MOST_COPIES = 64
# The driver is slow at rows of fewer bytes, if there are more bytes than a few.
NARROW, FEW = 32, 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Temporary:
    """Memory that a copy passes through. ghost: its items."""

    memory: Memory
    ghost: Array


class CudaSpace:
    """One GPU's memory.

    Memory allocated in a stream is freed in that stream's order; in the default stream, after all blocking streams.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self.device = device.ordinal
        self._allocations = Allocations(device, self)
        self._rooms: CudaRooms | None = None

    @cached_property
    def _blocks(self) -> Blocks:
        from gridjit.runtime.devices.cuda.memory.staged import Blocks

        return Blocks(self._device)

    @property
    def rooms(self) -> CudaRooms:
        """The rooms of machine code in the device's context."""
        from gridjit.runtime.devices.cuda.memory.rooms import CudaRooms  # for launches that copy

        epoch = self._device.context_id
        if self._rooms is None or self._rooms.epoch != epoch:
            self._rooms = CudaRooms(self._device, epoch)
        return self._rooms

    @property
    def driver(self) -> Driver:
        """The device's driver."""
        return self._device.driver

    @cached_property
    def _kernels(self) -> CopyKernels:
        from gridjit.runtime.devices.cuda.api.copy_kernels import CopyKernels

        return CopyKernels(self._device)

    @property
    def timeline(self) -> CudaTimeline:
        """The device's streams and events."""
        return self._device.timeline

    def allocate(self, size: int, stream: Any) -> Memory:
        """Return size bytes; raises DriverError if there are not enough, LaunchError while stream is captured."""
        return self._allocations.allocate(size, stream)

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        """Return size bytes of page-locked host memory."""
        return self._allocations.pinned(size, mapped=mapped)

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        """Return size bytes that move between host and device; raises DeviceError on devices without managed memory."""
        return self._allocations.managed(size, attach_global=attach_global)

    def pin(self, address: int, size: int) -> Callable[[], None]:
        """Page-lock host memory that exists already; returns the undo function."""
        with self._device.current:
            self.driver.register_host(address, size)
        return functools.partial(self.driver.unregister_host, address)

    def write(self, ghost: Array, values: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy host values into ghost; page-locked values must not change until stream has copied them."""
        if _are_dense(ghost, values):
            here = address_of(values)
            self._copy_bytes((address_of(ghost), here), here, ghost.nbytes, stream, values)
            return
        turn = straightening(ghost)
        turned = turn.of(values)
        block = np.ascontiguousarray(turned)
        if block is not turned:
            self._refuse_capture(stream)
        strided = turn.of(ghost)
        if (between := self._between(strided, stream)) is None:
            self._write_block(strided, block, stream)
        else:
            self._write_block(between.ghost, block, stream)
            self.copy(strided, between.ghost, stream)

    def _write_block(self, strided: Array, block: Array, stream: Any) -> None:
        """Copy a C-contiguous host array into a straightened ghost."""
        copies = plan(strided, address_of(block), outward=False)
        if len(copies) == 1 and copies[0].height == 1:
            one = copies[0]
            self._copy_bytes((one.destination, one.source), one.source, one.width, stream, block)
        else:
            self._copy(copies, stream)

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into host values; page-locked values are there once stream has copied them."""
        if _are_dense(ghost, values):
            here = address_of(values)
            self._copy_bytes((here, address_of(ghost)), here, ghost.nbytes, stream, values)
            return
        # Items that a stride of 0 repeats are copied once.
        once = without_repeats(ghost)
        turn = straightening(once)
        strided, turned = turn.of(once), turn.of(values)
        if turned.shape == strided.shape and turned.flags.c_contiguous:
            self._read_block(strided, turned, stream)
            return
        self._refuse_capture(stream)
        block = np.empty(strided.shape, strided.dtype)
        self._read_block(strided, block, stream)
        self.timeline.synchronize(stream_handle(stream))
        np.copyto(turned, block)

    def _read_block(self, strided: Array, block: Array, stream: Any) -> None:
        """Copy a straightened ghost into a C-contiguous host array."""
        if (between := self._between(strided, stream)) is not None:
            self.copy(between.ghost, strided, stream)
            strided = between.ghost
        copies = plan(strided, address_of(block), outward=True)
        if len(copies) == 1 and copies[0].height == 1:
            one = copies[0]
            self._copy_bytes((one.destination, one.source), one.destination, one.width, stream, block)
        else:
            self._copy(copies, stream)

    def _copy_bytes(self, place: tuple[int, int], here: int, size: int, stream: Any, owner: object) -> None:
        """Copy bytes between two addresses, to and from: place. `here` is the host address, in owner's memory."""
        handle = stream_handle(stream)
        with self._device.current, attributed(handle, self._device.ordinal):
            if not self._is_staged(here, size, handle):
                self.driver.copy(*place, size, handle or None)
                return
            from gridjit.runtime.devices.cuda.memory import staged  # for many bytes

            copy = staged.read if here == place[0] else staged.write
            copy(self._blocks, self._device, place, size, handle, owner)

    def _is_staged(self, address: int, size: int, handle: int) -> bool:
        """Return whether contiguous bytes at a host address go through blocks.

        They do if they are many and the driver cannot copy them by itself. A graph could not repeat the host's part.
        """
        if size <= AT_ONCE_BYTES:
            return False
        _, _, on_device = self.driver.memory_at(address)
        return not on_device and not self.driver.stream_capturing(handle)

    def peek(self, ghost: Array, values: Array, stream: Any) -> bool:
        """Copy dense items if the stream has no work left and is not captured; returns whether it did."""
        handle = stream_handle(stream)
        with self._device.current, self.driver.while_capturing():  # another stream may be captured
            if not _are_dense(ghost, values) or self.timeline.capturing(handle) or not self.timeline.done(handle):
                return False
            self.read(ghost, values, stream)
        return True

    def read_later(self, ghost: Array, values: Array, stream: Any) -> None:
        """Copy ghost into host values in stream's order: they are there when the stream's next work begins."""
        once = without_repeats(ghost)
        turn = straightening(once)
        strided, turned = turn.of(once), turn.of(values)
        handle = stream_handle(stream)
        with self._device.current, attributed(handle, self._device.ordinal):
            block = self._blocks.take(max(strided.nbytes, 1), handle)
            kind: Any = ctypes.c_char * block.size
            there = np.ndarray(strided.shape, strided.dtype, kind.from_address(block.address))
            self._copy(plan(strided, block.address, outward=True), handle, wait=False)
            self.timeline.call_back(handle, lambda: np.copyto(turned, there))
            self._blocks.give_after(block, handle)

    def _between(self, strided: Array, stream: Any) -> Temporary | None:
        """Return memory for a copy to or from the host to pass through, where one pitched copy is not enough, or slow.

        None while stream is captured: it cannot be allocated.
        """
        dense = StridedLayout.dense(strided.shape, strided.itemsize)
        if _is_one_copy(strided, dense.over(0, strided.dtype)) or self.timeline.capturing(stream_handle(stream)):
            return None
        return self._temporary(strided, stream)

    def _temporary(self, like: Array, stream: Any) -> Temporary:
        """Return dense memory for items like a ghost's, which is used and freed in the order of stream."""
        # An object, since a stream that is only a number may be gone when the memory is freed.
        memory = self.allocate(like.nbytes, Stream(self.timeline, stream_handle(stream), None))
        ghost = StridedLayout.dense(like.shape, like.itemsize).over(memory.address, like.dtype)
        return Temporary(memory=memory, ghost=ghost)

    def _refuse_capture(self, stream: Any) -> None:
        """Raise if stream is captured: a graph cannot repeat the copy."""
        if self.timeline.capturing(stream_handle(stream)):
            raise LaunchError("this copy needs a temporary array, which a graph cannot have: copy contiguous arrays")

    def copy(self, destination: Array, source: Array, stream: Any, keep: Owners = ()) -> None:
        """Copy between two ghosts on the device: by one pitched copy, or else by a kernel.

        Ghosts that share memory are copied through a temporary.
        """
        turn = straightening(destination)
        to, of = turn.of(destination), turn.of(source)
        if _share_memory(to, of):
            if address_of(to) != address_of(of) or to.strides != of.strides:
                temporary = self._temporary(of, stream)
                self.copy(temporary.ghost, of, stream)
                self.copy(to, temporary.ghost, stream)
        elif _is_one_copy(to, of) or not self._copied_by_kernels(to, of, stream):
            self._copy_in_pieces(to, of, stream)

    def _copied_by_kernels(self, to: Array, of: Array, stream: Any) -> bool:
        """Copy by kernels; return whether they could be loaded."""
        from gridjit.runtime.devices.cuda.api.copy_kernels import launches_for  # most copies are pitched ones

        launches, handle = launches_for(to, of), stream_handle(stream)
        if len(launches) > copies_between(to, of):
            return False
        with self._device.current, attributed(handle, self._device.ordinal):
            return all(self._kernels.launch(launch, handle) for launch in launches)

    def _copy_in_pieces(self, to: Array, of: Array, stream: Any) -> None:
        if copies_between(to, of) <= MOST_COPIES:
            self._copy(plan_between(to, of), stream)
            return
        values = np.empty(of.shape, of.dtype)
        self.read(of, values, stream)
        self.write(to, values, stream)

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        """Copy a ghost of another space into a ghost here; return whether it could be done without the host."""
        if not isinstance(space, CudaSpace):
            return False

        return copy_between(self._device, destination, stream, space._device, source, source_stream)

    def _copy(self, copies: list[Rows], stream: Any, *, wait: bool = True) -> None:
        """Make copies in a stream; in the default stream, wait for them."""
        handle = stream_handle(stream)
        order = None if handle == 0 and wait else handle
        with self._device.current, attributed(handle, self._device.ordinal):
            for rows in copies:
                if rows.height == 1:
                    self.driver.copy(rows.destination, rows.source, rows.width, order)
                else:
                    self.driver.copy_rows(rows, order)

    def fill(self, ghost: Array, value: int, stream: Any, keep: Owners = ()) -> None:
        """Set all items of a contiguous ghost, in stream."""
        handle = stream_handle(stream)
        with self._device.current, attributed(handle, self._device.ordinal):
            self.driver.fill(address_of(ghost), value, ghost.size, ghost.itemsize, handle)

    @property
    def new_memory(self) -> Whereabouts:
        """Of this device alone."""
        return Whereabouts(device=self.device, on_host=False, on_device=True)

    def whereabouts(self, address: int) -> Whereabouts:
        """Return the driver's answer about an address; memory that it does not know is the host's own."""
        with self._device.current:
            ordinal, on_host, on_device = self.driver.memory_at(address)
        return Whereabouts(device=ordinal if on_device else None, on_host=on_host, on_device=on_device)


def _are_dense(ghost: Array, values: Array) -> bool:
    """Return whether the items of both are contiguous and in the same order."""
    there, here = ghost.flags, values.flags
    return bool(ghost.size) and (
        (there.c_contiguous and here.c_contiguous) or (there.f_contiguous and here.f_contiguous)
    )


def _is_one_copy(to: Array, of: Array) -> bool:
    """Return whether one pitched copy is enough, and fast."""
    return copies_between(to, of) <= 1 and (to.nbytes <= FEW or run_between(to, of) >= NARROW)


def _share_memory(to: Array, of: Array) -> bool:
    """Return whether two ghosts may share items; interleaved ghosts may count as sharing."""
    try:
        return bool(to.size) and np.shares_memory(to, of, max_work=1000)  # type: ignore[arg-type]
    except RuntimeError:  # NumPy's TooHardError
        return True


if TYPE_CHECKING:
    _space: type[Space] = CudaSpace


def copy_between(
    here: CudaDevice, destination: Array, stream: Any, there: CudaDevice, source: Array, source_stream: Any
) -> bool:
    """Copy source, a ghost on one device, into destination on another; False if they are laid out differently.

    It is in the order of stream, which is here, and of source_stream, which is there: it waits for earlier work there,
    and later work there waits for it.
    """
    turn = straightening(destination)
    block = turn.of(destination)
    if destination.strides != source.strides or not block.flags.c_contiguous:
        return False
    if not block.size:
        return True
    mine, theirs = stream_handle(stream), stream_handle(source_stream)
    _wait(here, mine, there, theirs)
    with here.current, attributed(mine, here.ordinal):
        here.driver.copy_peer(
            (address_of(block), here.context), (address_of(turn.of(source)), there.context), block.nbytes, mine
        )
    _wait(there, theirs, here, mine)
    return True


def _wait(device: CudaDevice, stream: int, other: CudaDevice, others_stream: int) -> None:
    """Make later work in a device's stream wait for the work so far in another device's stream."""
    with new_event(other.timeline, timing=False) as event:
        event.record(others_stream)
        device.timeline.wait(stream, event.handle)
