"""Typical kernels: tens of lines, with barriers, mathematics, overloads, loops and arrays of four dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compile_times.vocabulary import cuda


@cuda.jit
def block_sum(x: Any, out: Any) -> None:
    """Sum each block's items by a tree in shared memory, with barriers."""
    tile = cuda.shared.array(128, np.float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 64
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, tile[0])


@cuda.jit
def black_scholes(price: Any, strike: Any, years: Any, call: Any, put: Any, rate: float, volatility: float) -> None:
    """Price European options: functions of math, which are overloads of numba-cuda's own."""
    i = cuda.grid(1)
    if i < price.size:
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / (volatility * root)
        d2 = d1 - volatility * root
        below1 = 0.5 * math.erfc(-d1 * 0.7071067811865476)
        below2 = 0.5 * math.erfc(-d2 * 0.7071067811865476)
        discount = math.exp(-rate * years[i])
        call[i] = price[i] * below1 - strike[i] * discount * below2
        put[i] = strike[i] * discount * (1.0 - below2) - price[i] * (1.0 - below1)


@cuda.jit
def overloads(x: Any, y: Any, out: Any) -> None:
    """Call what numba implements as overloads: of builtins, of NumPy, of tuples and of complex numbers."""
    i = cuda.grid(1)
    if i < x.size:
        low, high = min(x[i], y[i]), max(x[i], y[i])
        pair = (low, high, abs(low - high))
        number = complex(low, high)
        total = 0.0
        for item in pair:
            total += item
        out[i] = total + abs(number) + np.sin(low) + round(high) + divmod(i, 7)[1] + math.hypot(low, high)


@cuda.jit
def matrix_product(a: Any, b: Any, c: Any) -> None:
    """Multiply matrices by tiles in shared memory, with barriers in a loop."""
    left = cuda.shared.array((16, 16), np.float32)
    right = cuda.shared.array((16, 16), np.float32)
    row, column = cuda.grid(2)
    ty, tx = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0.0)
    for step in range((a.shape[1] + 15) // 16):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if row < a.shape[0] and step * 16 + tx < a.shape[1]:
            left[ty, tx] = a[row, step * 16 + tx]
        if column < b.shape[1] and step * 16 + ty < b.shape[0]:
            right[ty, tx] = b[step * 16 + ty, column]
        cuda.syncthreads()
        for k in range(16):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def histogram(x: Any, bins: Any) -> None:
    """Count integers by their low bits: shared memory, atomics and a loop over the grid."""
    counts = cuda.shared.array(256, np.int32)
    if cuda.threadIdx.x < 256:
        counts[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.size, stride):
        cuda.atomic.add(counts, x[i] & 255, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 256:
        cuda.atomic.add(bins, cuda.threadIdx.x, counts[cuda.threadIdx.x])


@cuda.jit
def stencil(u: Any, rhs: Any, dx: float, dy: float, dz: float) -> None:
    """A stencil over three axes of an array of four dimensions, with its indices chained."""
    k, j, i = cuda.grid(3)
    if 1 <= k < u.shape[0] - 1 and 1 <= j < u.shape[1] - 1 and 1 <= i < u.shape[2] - 1:
        for m in range(5):
            middle = u[k][j][i][m]
            along = u[k][j][i + 1][m] - 2.0 * middle + u[k][j][i - 1][m]
            across = u[k][j + 1][i][m] - 2.0 * middle + u[k][j - 1][i][m]
            up = u[k + 1][j][i][m] - 2.0 * middle + u[k - 1][j][i][m]
            rhs[k][j][i][m] = rhs[k][j][i][m] + dx * along + dy * across + dz * up
