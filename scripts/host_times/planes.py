"""Kernels over two axes: a 5-point stencil in four forms, and a transpose through a shared tile."""
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import numba
import numpy as np

import gridjit
from gridjit import cuda
from host_times.rows import Pair, Row

_SIDE = 2048


@gridjit.jit
def stencil(x, y):
    """The mean of five neighbours; the column is x."""
    j, i = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        y[i, j] = np.float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@gridjit.jit
def stencil_rows(x, y):
    """The same; the row is x."""
    i, j = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        y[i, j] = np.float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@gridjit.jit
def stencil_halo(x, y):
    """The same, from a shared tile of 32 by 8 with a border."""
    tile = cuda.shared.array((10, 34), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    rows, columns = x.shape
    if i < rows and j < columns:
        tile[ty + 1, tx + 1] = x[i, j]
        if ty == 0 and i > 0:
            tile[0, tx + 1] = x[i - 1, j]
        if ty == 7 and i < rows - 1:
            tile[9, tx + 1] = x[i + 1, j]
        if tx == 0 and j > 0:
            tile[ty + 1, 0] = x[i, j - 1]
        if tx == 31 and j < columns - 1:
            tile[ty + 1, 33] = x[i, j + 1]
    cuda.syncthreads()
    if 0 < i < rows - 1 and 0 < j < columns - 1:
        y[i, j] = np.float32(0.2) * (
            tile[ty + 1, tx + 1] + tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        )


@numba.njit(parallel=True)
def prange_stencil(x, y):
    """The peer of all three."""
    for i in numba.prange(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = np.float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@gridjit.jit
def transpose(x, y):
    """Tiles of 32 by 32 items, one item a thread."""
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.blockIdx.y * 32 + ty, cuda.blockIdx.x * 32 + tx
    if i < x.shape[0] and j < x.shape[1]:
        tile[ty, tx] = x[i, j]
    cuda.syncthreads()
    i, j = cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx
    if i < y.shape[0] and j < y.shape[1]:
        y[i, j] = tile[tx, ty]


@numba.njit(parallel=True)
def prange_transpose(x, y):
    """The peer of transpose: the same tiles without shared memory."""
    for row in numba.prange(x.shape[0] // 32):
        for column in range(x.shape[1] // 32):
            for i in range(32):
                for j in range(32):
                    y[row * 32 + i, column * 32 + j] = x[column * 32 + j, row * 32 + i]


def _stencil(kernel, block: tuple[int, int]) -> Pair:
    x = np.random.default_rng(0).random((_SIDE, _SIDE), dtype=np.float32)
    y, other = np.zeros_like(x), np.zeros_like(x)
    configured = kernel[(-(-_SIDE // block[0]), -(-_SIDE // block[1])), block]

    def check() -> None:
        neighbours = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        np.testing.assert_allclose(y[1:-1, 1:-1], np.float32(0.2) * (x[1:-1, 1:-1] + neighbours), rtol=1e-5)

    return Pair(ours=lambda: configured(x, y), peer=lambda: prange_stencil(x, other), check=check)


def _transpose() -> Pair:
    x = np.random.default_rng(0).random((_SIDE, _SIDE), dtype=np.float32)
    y, other = np.zeros_like(x), np.zeros_like(x)
    configured = transpose[(_SIDE // 32, _SIDE // 32), (32, 32)]
    return Pair(
        ours=lambda: configured(x, y),
        peer=lambda: prange_transpose(x, other),
        check=lambda: np.testing.assert_array_equal(y, x.T),
    )


ROWS = (
    Row(name="stencil 2048^2, blocks (32, 8)", peer="prange", goal=1.2, prepare=lambda: _stencil(stencil, (32, 8))),
    Row(name="stencil, blocks (16, 16)", peer="prange", goal=1.3, prepare=lambda: _stencil(stencil, (16, 16))),
    Row(name="stencil, i, j = cuda.grid(2)", peer="prange", goal=1.5, prepare=lambda: _stencil(stencil_rows, (16, 16))),
    Row(name="stencil, shared halo", peer="prange", goal=2.0, prepare=lambda: _stencil(stencil_halo, (32, 8))),
    Row(name="transpose 2048^2, shared tile", peer="prange, blocked", goal=1.3, prepare=_transpose),
)
