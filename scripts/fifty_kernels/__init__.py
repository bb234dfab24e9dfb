"""Fifty kernels that declare their signatures, as a numerical library's module does: ten functions for five types each.

Importing it compiles them, or hands them over to other processes if GRIDJIT_COMPILE_PROCESSES says how many.
"""

from __future__ import annotations

import math

import gridjit
from gridjit import cuda

TYPES = ("float32", "float64", "int32", "int64", "uint32")


@gridjit.jit(device=True)
def clamped(index, size):
    """Return an index, at most the last one of size."""
    return min(max(index, 0), size - 1)


def axpy(x, y, out):
    """Add a multiple."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 3 * x[i] + y[i]


def stencil(x, y, out):
    """Average five neighbours, with the ends repeated."""
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for step in range(-2, 3):
            total += x[clamped(i + step, x.size)] * (3 - abs(step))
        out[i] = total / 9 + y[i]


def block_sum(x, y, out):
    """Sum each block's items in shared memory."""
    tile = cuda.shared.array(128, "float64")
    lane, i = cuda.threadIdx.x, cuda.grid(1)
    tile[lane] = x[i] * y[i] if i < x.size else 0
    cuda.syncthreads()
    width = 64
    while width:
        if lane < width:
            tile[lane] += tile[lane + width]
        cuda.syncthreads()
        width //= 2
    if lane == 0:
        cuda.atomic.add(out, 0, tile[0])


def histogram(x, y, out):
    """Count items by size."""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, clamped(int(x[i] * 7 + y[i]), out.size), 1)


def polynomial(x, y, out):
    """Evaluate a polynomial by Horner's rule."""
    i = cuda.grid(1)
    if i < out.size:
        value, at = 0.0, float(x[i])
        for k in range(12):
            value = value * at + (k % 3 - 1) * float(y[k % y.size])
        out[i] = value


def distances(x, y, out):
    """Find each point's nearest neighbour."""
    i = cuda.grid(1)
    if i < out.size:
        best = 1e30
        for j in range(x.size):
            dx, dy = float(x[i]) - float(x[j]), float(y[i]) - float(y[j])
            distance = math.sqrt(dx * dx + dy * dy)
            if j != i and distance < best:
                best = distance
        out[i] = best


def waves(x, y, out):
    """Sum a few waves."""
    i = cuda.grid(1)
    if i < out.size:
        phase = float(x[i]) * 0.01
        out[i] = 100 * (math.sin(phase) + math.cos(2 * phase) * math.exp(-phase * phase)) + y[i]


def bits(x, y, out):
    """Mix bits, as a random generator does."""
    i = cuda.grid(1)
    if i < out.size:
        state = (int(x[i]) ^ 0x5BD1E995) & 0xFFFFFFFF
        for step in range(8):
            state = (state ^ (state << 13)) & 0xFFFFFFFF
            state ^= state >> (7 + step % 3)
        out[i] = state % 1000 + y[i]


def transpose(x, y, out):
    """Transpose tiles of 16 by 16 items through shared memory."""
    tile = cuda.shared.array((16, 17), "float64")
    row, column = cuda.threadIdx.x // 16, cuda.threadIdx.x % 16
    i = cuda.grid(1)
    tile[row, column] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < out.size:
        out[i] = tile[column % 8, row] + y[i]


def sort_pairs(x, y, out):
    """Sort eight items of each thread by insertion, in local memory."""
    i = cuda.grid(1)
    local = cuda.local.array(8, "float64")
    for k in range(8):
        local[k] = x[(i * 8 + k) % x.size]
    for k in range(1, 8):
        value, j = local[k], k - 1
        while j >= 0 and local[j] > value:
            local[j + 1] = local[j]
            j -= 1
        local[j + 1] = value
    if i < out.size:
        out[i] = local[4] + y[i]


BODIES = (axpy, stencil, block_sum, histogram, polynomial, distances, waves, bits, transpose, sort_pairs)
KERNELS = [gridjit.jit(f"void({kind}[::1], {kind}[::1], {kind}[::1])")(body) for body in BODIES for kind in TYPES]
