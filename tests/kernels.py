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


def again_by_thread(x, out):
    """Begin a strided loop again and again, each thread as often as it needs, and then one that all begin once."""
    i = cuda.threadIdx.x
    total, turns = 0.0, 0
    while True:
        for j in range(i, x.size, cuda.blockDim.x):
            total = total * 0.5 + x[j]
        turns += 1
        if turns > i % 5:
            break
    for j in range(i, x.size, cuda.blockDim.x):
        total = total * 0.5 + x[j]
    out[i] = total


def again_by_warp(x, out):
    """Begin a strided loop again, each warp as often as it needs, and wait for the others behind it."""
    shared = cuda.shared.array(64, "float64")
    i = cuda.threadIdx.x
    total, turns = 0.0, 0
    while True:
        for j in range(i, x.size, cuda.blockDim.x):
            total = total * 0.5 + x[j]
        turns += 1
        if turns > i // 32:
            break
    shared[i] = total
    cuda.syncthreads()
    out[63 - i] = shared[63 - i]
