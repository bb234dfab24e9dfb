"""Functions that tests of many kinds make kernels of."""

from __future__ import annotations

import gridjit
from gridjit import cuda


def writes_block(out):
    """Write the block's size where each thread of one block is."""
    out[cuda.threadIdx.x] = gridjit.static.blockDim.x


def writes_block_everywhere(out):
    """Write the block's size to each item."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = gridjit.static.blockDim.x


def increments(x):
    """Add 1 to each item."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1
