"""freed_memory: memory that one compile frees is kept for the next, and is not fetched from the system again.

LLVM, NVVM and ptxas allocate megabytes for each compile and free them at its end. glibc returns such memory to the
system, which clears each page before it hands it out again: a tenth of the time that ptxas takes for a small kernel.
Once a program has freed a large piece, such as a NumPy array, glibc keeps up to twice as much. Here such a piece is
allocated and freed before the first compile. With another allocator, this has no effect.
"""

from __future__ import annotations

import functools

import numpy

# Pieces as large as this, and twice as much in all, stay with the process from then on.
_PIECE = 16 << 20


@functools.cache
def keep_freed_memory() -> None:
    """Have the process keep what it frees: allocate a piece of the largest size to keep, unused, and free it."""
    numpy.empty(_PIECE, dtype=numpy.uint8)
