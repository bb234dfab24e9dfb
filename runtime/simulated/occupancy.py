"""occupancy: how many blocks of a kind a multiprocessor of a device holds at once, registers aside.

"Maximizing Occupancy" in the CUDA programming guide. The host's code has no registers to count.
"""

from __future__ import annotations

from gridjit.runtime.simulated.models import DeviceModel


def active_blocks(kind: DeviceModel, threads: int, shared_bytes: int) -> int:
    """Return how many blocks of so many threads, with so much shared memory each, run on a multiprocessor at once."""
    warp = kind.attribute("WARP_SIZE")
    whole = -(-threads // warp) * warp
    if not 0 < threads <= kind.attribute("MAX_THREADS_PER_BLOCK"):
        return 0
    if shared_bytes > kind.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"):
        return 0
    each = shared_bytes + kind.attribute("RESERVED_SHARED_MEMORY_PER_BLOCK")
    by_memory = kind.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") // each if each else whole
    return min(
        kind.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        kind.attribute("MAX_THREADS_PER_MULTIPROCESSOR") // whole,
        by_memory,
    )
