"""Ranges: the used pieces of memory, their last uses, and which of them share bytes.

A piece is identified by its items' layout and address. Pieces that share bytes are linked, so that one piece shows all
uses of its memory. If it is cheap to find out whether interleaved pieces share bytes, this is done; otherwise they
count as sharing some.
"""

from __future__ import annotations

import bisect
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gridjit.compiler.values.signature import array_codes, array_struct
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.layout import StridedLayout

# The most pieces before pieces that cannot be part of a hazard are dropped.
MOST = 4096
# How many cases NumPy tries before two arrays count as sharing memory.
_WORK = 1000


class MemoryUse:
    """A line's last use of a piece. number, time: the line's, and its time there.

    what: the work, and the name of its argument, for an error. A line has one writing and one reading use of a piece; a
    repeated launch changes their time and what.
    """

    __slots__ = ("number", "time", "what")

    def __init__(self, number: int, time: int, what: tuple[Any, str]) -> None:
        self.number = number
        self.time = time
        self.what = what


class UsedMemory:
    """Memory that was used. low, high: its bounds. layout, origin: the layout and address of its items.

    key: its launch parameters, until it is forgotten. kind: of the array by which repeated launches know it. is_solid:
    whether all bytes between the addresses are its own. write: its last write. reads: later reads, by the line. others:
    the pieces it shares bytes with.
    """

    __slots__ = ("high", "is_solid", "key", "kind", "layout", "low", "origin", "others", "reads", "write")

    def __init__(self, key: bytes, layout: StridedLayout, origin: int) -> None:
        low, high = layout.extent
        self.key: bytes | None = key
        self.kind: object = None
        self.is_solid = layout.volume * layout.itemsize == high - low
        self.low = origin + low
        self.high = origin + high
        self.layout = layout
        self.origin = origin
        self.write: MemoryUse | None = None
        self.reads: dict[int, MemoryUse] = {}
        self.others: list[UsedMemory] = []

    def note(self, number: int, time: int, what: tuple[Any, str], *, writes: bool) -> None:
        """Note a line's use. The line's own uses stay, as repeated launches change them."""
        use = self.write if writes else self.reads.get(number)
        if use is not None and use.number == number:
            use.time, use.what = time, what
        elif writes:
            self.write = MemoryUse(number, time, what)
        else:
            self.reads[number] = MemoryUse(number, time, what)
        if writes and self.reads:
            own = self.reads.get(number)
            self.reads = {} if own is None else {number: own}

    def used(self, number: int, *, writes: bool) -> MemoryUse:
        """Return a line's noted use."""
        use = self.write if writes else self.reads[number]
        assert use is not None
        return use

    def uses(self) -> Iterator[MemoryUse]:
        """Yield its uses."""
        if self.write is not None:
            yield self.write
        yield from self.reads.values()

    @property
    def ghost(self) -> Any:
        """An array of its items, which is never read."""
        return self.layout.over(self.origin, np.dtype(f"V{self.layout.itemsize}"))

    def __str__(self) -> str:
        shape = "x".join(map(str, self.layout.shape)) or "1"
        return f"{shape} items of {self.layout.itemsize} bytes at 0x{self.low:x}"


class Ranges:
    """All pieces, by their launch parameters and addresses. is_over: whether a use can matter no more."""

    def __init__(self, is_over: Callable[[MemoryUse], bool]) -> None:
        self._is_over = is_over
        self._known: dict[bytes, UsedMemory] = {}
        self._pieces: list[UsedMemory] = []  # by low
        self._lows: list[int] = []
        # The number of pieces of each length: a search for an address begins the longest length before it.
        self._lengths: dict[int, int] = {}
        self._longest = 0
        self._limit = MOST

    def piece(self, parameters: bytes) -> UsedMemory | None:
        """Return the piece of an array's packed launch parameters; None if it has no items."""
        if parameters in self._known:
            return self._known[parameters]
        ndim = (len(parameters) // 8 - 5) // 2
        _, _, _, itemsize, address, *dims = struct.unpack("@" + array_codes(ndim), parameters)
        return self._learn(parameters, address, itemsize, tuple(dims[:ndim]), tuple(dims[ndim:]))

    def piece_of(self, ghost: Any) -> UsedMemory | None:
        """Return the piece of a NumPy array, or a ghost; None if it has no items."""
        parts = array_struct(address_of(ghost), ghost.size, ghost.itemsize, ghost.shape, ghost.strides)
        return self.piece(struct.pack("@" + array_codes(ghost.ndim), *parts))

    def bytes_at(self, address: int, size: int) -> UsedMemory | None:
        """Return the piece of so many bytes at an address."""
        return self.piece(struct.pack("@" + array_codes(1), *array_struct(address, size, 1, (size,), (1,))))

    def forget(self, low: int, high: int) -> None:
        """Forget the uses of the memory between two addresses, which has a new use from now on."""
        for piece in self._between(low, high):
            self._remove(piece)

    def uses(self) -> Iterator[MemoryUse]:
        """Yield the uses of all pieces."""
        for piece in self._pieces:
            yield from piece.uses()

    # -- keeping them ------------------------------------------------------------------------------------------------

    def _learn(self, key: bytes, address: int, itemsize: int, shape: Any, strides: Any) -> UsedMemory | None:
        if 0 in shape or not itemsize:
            return None
        self._make_room()
        made = UsedMemory(key, StridedLayout(shape, itemsize=itemsize, strides_in_bytes=strides), address)
        for other in self._between(made.low, made.high):
            if _share(made, other):
                made.others.append(other)
                other.others.append(made)
        place = bisect.bisect_left(self._lows, made.low)
        self._lows.insert(place, made.low)
        self._pieces.insert(place, made)
        self._count(made.high - made.low, 1)
        self._known[key] = made
        return made

    def _remove(self, piece: UsedMemory) -> None:
        at = bisect.bisect_left(self._lows, piece.low)
        while self._pieces[at] is not piece:
            at += 1
        del self._pieces[at], self._lows[at]
        if piece.key is not None:
            del self._known[piece.key]
            piece.key = None
        for other in piece.others:
            other.others.remove(piece)
        self._count(piece.high - piece.low, -1)

    def _count(self, length: int, more: int) -> None:
        """Note that there are `more` more pieces of a length."""
        self._lengths[length] = self._lengths.get(length, 0) + more
        if more > 0:
            self._longest = max(self._longest, length)
        elif not self._lengths[length]:
            del self._lengths[length]
            if length == self._longest:
                self._longest = max(self._lengths, default=0)

    def _between(self, low: int, high: int) -> list[UsedMemory]:
        """Return the pieces between two addresses, partly or wholly."""
        first = bisect.bisect_left(self._lows, low - self._longest)
        last = bisect.bisect_left(self._lows, high)
        return [piece for piece in self._pieces[first:last] if piece.high > low]

    def _make_room(self) -> None:
        """Drop pieces whose uses are all over, if there are many."""
        if len(self._pieces) >= self._limit:
            self._drop(lambda piece: all(map(self._is_over, piece.uses())))
            self._limit = max(MOST, 2 * len(self._pieces))

    def _drop(self, is_gone: Callable[[UsedMemory], bool]) -> None:
        left = [piece for piece in self._pieces if not is_gone(piece)]
        stay = set(map(id, left))
        known = {key: piece for key, piece in self._known.items() if id(piece) in stay}
        for piece in self._pieces:
            if id(piece) not in stay:
                piece.key = None
        for piece in left:
            piece.others = [other for other in piece.others if id(other) in stay]
        self._pieces, self._lows = left, [piece.low for piece in left]
        self._lengths = dict(Counter(piece.high - piece.low for piece in left))
        self._longest = max(self._lengths, default=0)
        self._known = known


def _share(one: UsedMemory, other: UsedMemory) -> bool:
    """Return whether two pieces whose bounds overlap share bytes; True if that would take long to find out."""
    if one.is_solid and other.is_solid:
        return True
    try:
        return bool(np.shares_memory(one.ghost, other.ghost, max_work=_WORK))  # type: ignore[arg-type]
    except RuntimeError:  # NumPy's TooHardError
        return True
