"""staged: copies between a GPU and pageable memory, through page-locked blocks and in the order of their stream.

The driver would wait for such a copy, and for the streams of others too. A block that is in flight is not given to
another copy before its stream is done with it. Many bytes are moved between block and array by several threads, piece
by piece, while the device copies other pieces.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gridjit.forking import lock, section
from gridjit.runtime.devices.cuda.driver import Driver
from gridjit.runtime.devices.cuda.memory.calls import AT_ONCE_BYTES
from gridjit.runtime.devices.host.pool import pool
from gridjit.values import dataclass

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# What one thread moves at a time, what one block holds at most, and what all blocks hold before copies wait for room.
_PIECE_BYTES = 2 << 20
_BLOCK_BYTES = 64 << 20
_ALL_BYTES = 256 << 20
_HELPERS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class _PinnedBlock:
    """Page-locked memory."""

    address: int
    size: int


class Blocks:
    """A device's page-locked blocks: those that are free, and those in flight, each with the event of its end."""

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
        """Return a block of at least size bytes that nobody uses, for a copy in stream; the device is current.

        A larger one that is free will do: the driver may wait for all streams while it makes another. If there is no
        room, the stream's own copies are waited for before those of others.
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
        """Have a block that nothing uses any more taken again."""
        with section(), self._changing:
            self._free.setdefault(block.size, []).append(block)

    def give_after(self, block: _PinnedBlock, stream: int) -> None:
        """Have a block taken again when stream has got to here."""
        with section(), self._changing:
            event = self.event()
            self._driver.record_event(event, stream)
            self._flying.append((block, event, stream))

    def event(self) -> int:
        """Return an event that nobody uses."""
        return self._events.pop() if self._events else self._driver.create_event(timing=False)

    def give_event(self, event: int) -> None:
        """Have an event used again."""
        self._events.append(event)

    def _renew(self) -> None:
        """Forget what ended with its context."""
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
        """Return the smallest free block that is large enough, and have it no longer free; None if there is none."""
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
    for at, count in _parts(size, _BLOCK_BYTES):
        block = blocks.take(count, stream)
        there, here, pieces = place[0] + at, place[1] + at, list(_parts(count, _PIECE_BYTES))

        def move(
            piece: int, block: _PinnedBlock = block, here: int = here, pieces: list[tuple[int, int]] = pieces
        ) -> None:
            start, length = pieces[piece]
            ctypes.memmove(block.address + start, here + start, length)

        for piece in _moved(len(pieces), move, owner):
            start, length = pieces[piece]
            device.driver.copy(there + start, block.address + start, length, stream)
        blocks.give_after(block, stream)


def read(blocks: Blocks, device: CudaDevice, place: tuple[int, int], size: int, stream: int, owner: object) -> None:
    """Copy size bytes from a device, and return when they are there: place is (here, there). owner: of here."""
    driver = device.driver
    for at, count in _parts(size, _BLOCK_BYTES):
        block = blocks.take(count, stream)
        here, there, pieces = place[0] + at, place[1] + at, list(_parts(count, _PIECE_BYTES))
        events = []
        for start, length in pieces:
            driver.copy(block.address + start, there + start, length, stream)
            events.append(blocks.event())
            driver.record_event(events[-1], stream)

        def move(
            piece: int,
            block: _PinnedBlock = block,
            here: int = here,
            pieces: list[tuple[int, int]] = pieces,
            events: list[int] = events,
        ) -> None:
            start, length = pieces[piece]
            with device.current:
                driver.synchronize_event(events[piece])
            ctypes.memmove(here + start, block.address + start, length)

        for piece in _moved(len(pieces), move, owner):
            blocks.give_event(events[piece])
        blocks.give(block)


def _parts(size: int, most: int) -> Iterator[tuple[int, int]]:
    return ((at, min(most, size - at)) for at in range(0, size, most))


def _moved(count: int, move: Callable[[int], None], owner: object) -> Iterator[int]:
    """Yield the numbers below count in order, each when move(number) is done, by this thread or a helper.

    owner: is kept as long as a helper may be at work. Raises what move raises.
    """
    turns, failed = itertools.count(), list[BaseException]()
    done = [allocate_lock() for _ in range(count)]
    for one in done:
        one.acquire()

    def take(owner: object = owner) -> bool:
        if (number := next(turns)) >= count:
            return False
        try:
            move(number)
        except BaseException as error:
            failed.append(error)
        finally:
            done[number].release()
        return True

    def help_out() -> None:
        while take():
            pass

    if count > 1:
        pool().help(help_out, min(_HELPERS, count - 1, max((os.cpu_count() or 1) - 1, 1)))
    for number in range(count):
        while not done[number].acquire(False):
            if not take():
                done[number].acquire()
                break
        if failed:
            raise failed[0]
        yield number
