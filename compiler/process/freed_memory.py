"""freed_memory: memory that one compile frees is kept for the next, and is not fetched from the system again.

LLVM, NVVM and ptxas take megabytes for each compile and free them at its end. glibc returns such memory to the system,
which clears each page before it hands it out again: a tenth of what ptxas takes for a small kernel. Once a program has
freed a larger piece, a NumPy array for example, glibc keeps up to twice as much. Here it is done before the first
compile; with another allocator nothing comes of it.
"""

from __future__ import annotations

import functools

import numpy

# Pieces as large as this, and twice as much in all, stay with the process from then on.
_PIECE = 16 << 20


@functools.cache
def keep_freed_memory() -> None:
    """Have the process keep what it frees; the piece that shows how much is neither read nor written."""
    numpy.empty(_PIECE, dtype=numpy.uint8)
