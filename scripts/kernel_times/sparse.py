"""Products of sparse matrices in rows (CSR) with vectors: a thread a row, of many items or few, and a warp a row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numba import cuda

from kernel_times.kernel import FMA, Kernel, floats, whole, zeros

ALL = 0xFFFFFFFF


def sparse_rows(starts, columns, values, x, out):
    """A thread a row."""
    row = cuda.grid(1)
    if row < out.size:
        total = np.float32(0)
        for at in range(starts[row], starts[row + 1]):
            total += values[at] * x[columns[at]]
        out[row] = total


def cg_sparse(starts, columns, values, x, out):
    """A warp a row, as the NAS program CG has it."""
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < out.size:
        total = 0.0
        for at in range(starts[row] + lane, starts[row + 1], 32):
            total += values[at] * x[columns[at]]
        step = 16
        while step:
            total += cuda.shfl_down_sync(ALL, total, step)
            step >>= 1
        if lane == 0:
            out[row] = total


def _matrix(n, mean, dtype):
    """Return the arguments of a product with a matrix of n rows of about so many items, near the diagonal."""
    starts = np.concatenate(([0], np.cumsum(whole(2 * mean, n) + 1))).astype(np.int32)
    row = np.repeat(np.arange(n), np.diff(starts))
    columns = ((row + whole(1000, starts[-1])) % n).astype(np.int32)
    return starts, columns, floats(starts[-1], dtype=dtype), floats(n, dtype=dtype, seed=1), zeros(n, dtype=dtype)


def _product(starts, columns, values, x, _):
    return np.add.reduceat(values * x[columns], starts[:-1])


_ROWS = Kernel(
    function=sparse_rows,
    cuda=r"""
int row = GRID(x);
if (row >= n) return;
float total = 0;
for (int at = starts[row], end = starts[row + 1]; at < end; at++) total += values[at] * x[columns[at]];
out[row] = total;""",
    arguments=partial(_matrix, mean=32, dtype=np.float32),
    sizes=(1 << 18, 1500),
    expected=_product,
    tolerance=1e-5,
    work=FMA,
)

KERNELS = (
    _ROWS,
    replace(_ROWS, named="sparse_short_rows",
        arguments=partial(_matrix, mean=4, dtype=np.float32), sizes=(1 << 20, 1500)),
    Kernel(function=cg_sparse, cuda=r"""
int row = GRID(x) / 32, lane = threadIdx.x % 32;
if (row >= n) return;
double total = 0;
for (int at = starts[row] + lane, end = starts[row + 1]; at < end; at += 32) total += values[at] * x[columns[at]];
for (int step = 16; step; step >>= 1) total += __shfl_down_sync(0xFFFFFFFF, total, step);
if (lane == 0) out[row] = total;""",
        arguments=partial(_matrix, mean=100, dtype=np.float64), launch=lambda n: ((-(-n // 8),), (256,)),
        sizes=(75_000, 1500), tolerance=1e-13, expected=_product, work=FMA),
)  # fmt: skip
