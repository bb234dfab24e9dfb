"""staged: copies between a GPU and pageable memory, through page-locked blocks and in the order of their stream.

The driver would wait for such a copy, and for other streams too. A block that is in flight is not given to another copy
before its stream is done with it. The smallest piece is the first on the way to a device and the last on the way back:
only then does the device have to wait for the host, or the host for the device.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.api.memory_calls import AT_ONCE_BYTES
from gridjit.runtime.devices.cuda.memory.carrying import StagedCopy, pieces

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# The largest block, and the bytes of all blocks from which copies wait for room.
_BLOCK_BYTES = 64 << 20
_ALL_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _PinnedBlock:
    """Page-locked memory."""

    address: int
    size: int


class Blocks:
    """A device's page-locked blocks: free blocks, and blocks in flight, each with the event of its end."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._epoch = 0
        self._bytes = 0
        self._free: dict[int, list[_PinnedBlock]] = {}
        self._flying: deque[tuple[_PinnedBlock, int, int]] = deque()  # each with its event and its stream
        self._events: list[int] = []
        self._changing = lock()

    @property
    def _driver(self) -> Driver:
        return self._device.driver

    def take(self, size: int, stream: int) -> _PinnedBlock:
        """Return an unused block of at least size bytes, for a copy in stream; the device is current.

        A larger free block will do: the driver may wait for all streams while it makes another. If there is no room,
        the stream's own copies are waited for before other copies.
        """
        wanted = max(AT_ONCE_BYTES, 1 << (size - 1).bit_length())
        with section(), self._changing:
            self._renew()
            self._collect()
            while (found := self._large(wanted)) is None and self._bytes + wanted > _ALL_BYTES and self._flying:
                flying = next((one for one in self._flying if one[2] == stream), self._flying[0])
                self._flying.remove(flying)
                self._driver.synchronize_event(flying[1])
                self._landed(*flying[:2])
            if found is not None:
                return found
            self._make_room(wanted)
            self._bytes += wanted
            with self._driver.while_capturing():  # another stream
                return _PinnedBlock(address=self._driver.allocate_host(wanted), size=wanted)

    def give(self, block: _PinnedBlock) -> None:
        """Free a block that is not in use any more."""
        with section(), self._changing:
            self._free.setdefault(block.size, []).append(block)

    def give_after(self, block: _PinnedBlock, stream: int) -> None:
        """Free a block once stream's earlier work is done."""
        with section(), self._changing:
            event = self.event()
            self._driver.record_event(event, stream)
            self._flying.append((block, event, stream))

    def event(self) -> int:
        """Return an unused event."""
        return self._events.pop() if self._events else self._driver.create_event(timing=False)

    def give_event(self, event: int) -> None:
        """Let an event be used again."""
        self._events.append(event)

    def _renew(self) -> None:
        """Forget the blocks of an ended context."""
        epoch = self._device.context_id
        if epoch != self._epoch:
            self._free, self._events, self._bytes, self._epoch = {}, [], 0, epoch
            self._flying.clear()

    def _collect(self) -> None:
        for _ in range(len(self._flying)):
            block, event, stream = self._flying.popleft()
            if self._driver.event_done(event):
                self._landed(block, event)
            else:
                self._flying.append((block, event, stream))

    def _large(self, wanted: int) -> _PinnedBlock | None:
        """Take and return the smallest free block that is large enough; None if there is none."""
        size = min((size for size, free in self._free.items() if free and size >= wanted), default=None)
        return None if size is None else self._free[size].pop()

    def _landed(self, block: _PinnedBlock, event: int) -> None:
        self._events.append(event)
        self._free.setdefault(block.size, []).append(block)

    def _make_room(self, wanted: int) -> None:
        """Free blocks of other sizes as long as there is no room for one of the wanted size."""
        for size in sorted(self._free):
            while self._free[size] and self._bytes + wanted > _ALL_BYTES:
                self._driver.free_host(self._free[size].pop().address)
                self._bytes -= size


def write(blocks: Blocks, device: CudaDevice, place: tuple[int, int], size: int, stream: int, owner: object) -> None:
    """Copy size bytes to a device: place is (there, here). They may be changed when this returns. owner: of here."""
    there, here = place
    for at, count in _parts(size):
        block = blocks.take(count, stream)
        try:
            one = StagedCopy(here=here + at, block=block.address, there=there + at, size=count, owner=owner)
            device.carrier.write(one, stream)
        finally:
            blocks.give_after(block, stream)


def read(blocks: Blocks, device: CudaDevice, place: tuple[int, int], size: int, stream: int, owner: object) -> None:
    """Copy size bytes from a device, and return when they are there: place is (here, there). owner: of here."""
    here, there = place
    coming: deque[_Coming] = deque()
    try:
        for at, count in _parts(size):
            block = blocks.take(count, stream)
            one = StagedCopy(here=here + at, block=block.address, there=there + at, size=count, owner=owner)
            coming.append(_coming(blocks, device.driver, one, block, stream))
            if len(coming) > 1:  # the device copies meanwhile
                _arrive(blocks, device, coming)
        while coming:
            _arrive(blocks, device, coming)
    finally:
        for left in coming:
            blocks.give_after(left.block, stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coming:
    """A copy of a device's into a block: each piece's beginning, its size, and the event of its end."""

    transfer: StagedCopy
    block: _PinnedBlock
    pieces: list[tuple[int, int, int]]


def _coming(blocks: Blocks, driver: Driver, one: StagedCopy, block: _PinnedBlock, stream: int) -> _Coming:
    """Copy a transfer from the device into a block, the largest pieces first."""
    found = []
    for end, length in reversed([*pieces(one.size)]):
        start = one.size - end - length
        driver.copy(one.block + start, one.there + start, length, stream)
        found.append((start, length, event := blocks.event()))
        driver.record_event(event, stream)
    return _Coming(transfer=one, block=block, pieces=found)


def _arrive(blocks: Blocks, device: CudaDevice, coming: deque[_Coming]) -> None:
    """Copy the first coming transfer to its place, and remove it from coming."""
    first = coming[0]
    device.carrier.read(first.transfer, first.pieces)
    coming.popleft()
    blocks.give(first.block)
    for _, _, event in first.pieces:
        blocks.give_event(event)


def _parts(size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts that go through one block each: beginning and size."""
    return ((at, min(_BLOCK_BYTES, size - at)) for at in range(0, size, _BLOCK_BYTES))
