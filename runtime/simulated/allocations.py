"""SimulatedAllocations: the memory that a simulated driver gave out, found by any address in it."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import numpy as np

from gridjit.runtime.queues.timeline import HOST

_ALIGNMENT = 256


class SimulatedAllocations:
    """Blocks of this process's memory, by the addresses where they begin."""

    def __init__(self) -> None:
        # In order, and what is there: its size, what keeps it, and what is told when it is freed.
        self._addresses: list[int] = []
        self._blocks: dict[int, tuple[int, Any, Callable[[], None] | None]] = {}

    def __contains__(self, address: int) -> bool:
        return address in self._blocks

    def make(self, size: int, freed: Callable[[], None] | None = None) -> int:
        """Return the address of a new block of size bytes, aligned as a GPU's are; freed is called when it is freed."""
        memory = np.zeros(size + _ALIGNMENT, np.uint8)
        address = -(-int(memory.ctypes.data) // _ALIGNMENT) * _ALIGNMENT
        bisect.insort(self._addresses, address)
        self._blocks[address] = size, memory, freed
        return address

    def free(self, address: int) -> None:
        """Free the block that begins at an address, once streams are done with what they have now."""
        del self._addresses[bisect.bisect_left(self._addresses, address)]
        _, memory, freed = self._blocks.pop(address)
        HOST.keep(memory)
        if freed is not None:
            freed()

    def around(self, address: int) -> tuple[int, int] | None:
        """Return where the block that an address is in begins, and its size; None if it is in none."""
        at = bisect.bisect_right(self._addresses, address) - 1
        base = self._addresses[at] if at >= 0 else 0
        size = self._blocks[base][0] if base else 0
        return (base, size) if address < base + size else None
