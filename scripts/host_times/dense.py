"""Kernels that compute much for each item: n-body in tiles, Mandelbrot, and a product of matrices in shared tiles."""
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import math

import numba
import numpy as np

import gridjit
from gridjit import cuda
from host_times.rows import Pair, Row

_BODIES, _SIDE = 2048, 512


@gridjit.jit
def bodies(place, force):
    """The forces on bodies of one mass, from tiles of 256 of them in shared memory."""
    tile = cuda.shared.array((3, 256), np.float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    x, y, z = place[0, i], place[1, i], place[2, i]
    fx = fy = fz = np.float32(0)
    for start in range(0, place.shape[1], 256):
        for axis in range(3):
            tile[axis, thread] = place[axis, start + thread]
        cuda.syncthreads()
        for j in range(256):
            dx, dy, dz = tile[0, j] - x, tile[1, j] - y, tile[2, j] - z
            square = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            near = np.float32(1) / (square * math.sqrt(square))
            fx += dx * near
            fy += dy * near
            fz += dz * near
        cuda.syncthreads()
    force[0, i], force[1, i], force[2, i] = fx, fy, fz


@numba.njit(parallel=True)
def prange_bodies(place, force):
    """The peer of bodies."""
    for i in numba.prange(place.shape[1]):
        x, y, z = place[0, i], place[1, i], place[2, i]
        fx = fy = fz = np.float32(0)
        for j in range(place.shape[1]):
            dx, dy, dz = place[0, j] - x, place[1, j] - y, place[2, j] - z
            square = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            near = np.float32(1) / (square * math.sqrt(square))
            fx += dx * near
            fy += dy * near
            fz += dz * near
        force[0, i], force[1, i], force[2, i] = fx, fy, fz


@gridjit.jit
def mandelbrot(counts):
    """Each point's turns until it leaves the set, at most 100."""
    j, i = cuda.grid(2)
    if i < counts.shape[0] and j < counts.shape[1]:
        re, im = j * 3.0 / counts.shape[1] - 2, i * 2.0 / counts.shape[0] - 1
        x = y = 0.0
        turns = 0
        while turns < 100 and x * x + y * y < 4:
            x, y = x * x - y * y + re, 2 * x * y + im
            turns += 1
        counts[i, j] = turns


@numba.njit(parallel=True)
def prange_mandelbrot(counts):
    """The peer of mandelbrot."""
    for i in numba.prange(counts.shape[0]):
        for j in range(counts.shape[1]):
            re, im = j * 3.0 / counts.shape[1] - 2, i * 2.0 / counts.shape[0] - 1
            x = y = 0.0
            turns = 0
            while turns < 100 and x * x + y * y < 4:
                x, y = x * x - y * y + re, 2 * x * y + im
                turns += 1
            counts[i, j] = turns


@gridjit.jit
def product(a, b, c):
    """A product of matrices whose sides are multiples of 16, in shared tiles of 16 by 16."""
    left, right = cuda.shared.array((16, 16), np.float32), cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        left[ty, tx] = a[i, start + tx]
        right[ty, tx] = b[start + ty, j]
        cuda.syncthreads()
        for k in range(16):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[i, j] = total


@numba.njit(parallel=True)
def prange_product(a, b, c):
    """The peer of product: what it does for a block, cut at its barriers by hand."""
    wide = b.shape[1] // 16
    for block in numba.prange(a.shape[0] // 16 * wide):
        left, right = np.empty((16, 16), np.float32), np.empty((16, 16), np.float32)
        total = np.zeros((16, 16), np.float32)
        row, column = block // wide * 16, block % wide * 16
        for start in range(0, a.shape[1], 16):
            for ty in range(16):
                for tx in range(16):
                    left[ty, tx] = a[row + ty, start + tx]
                    right[ty, tx] = b[start + ty, column + tx]
            for ty in range(16):
                for k in range(16):
                    for tx in range(16):
                        total[ty, tx] += left[ty, k] * right[k, tx]
        for ty in range(16):
            for tx in range(16):
                c[row + ty, column + tx] = total[ty, tx]


def _bodies() -> Pair:
    place = np.random.default_rng(0).random((3, _BODIES), dtype=np.float32)
    force, other = np.zeros_like(place), np.zeros_like(place)
    configured = bodies[_BODIES // 256, 256]

    def check() -> None:
        apart = place[:, None, :].astype(np.float64) - place[:, :, None]
        expected = (apart * ((apart**2).sum(axis=0) + 0.01) ** -1.5).sum(axis=2)
        np.testing.assert_allclose(force, expected, rtol=1e-2, atol=0.5)

    return Pair(ours=lambda: configured(place, force), peer=lambda: prange_bodies(place, other), check=check)


def _mandelbrot() -> Pair:
    counts, other = np.zeros((2, _SIDE, _SIDE), np.int32)
    configured = mandelbrot[(_SIDE // 32, _SIDE // 8), (32, 8)]

    def check() -> None:
        prange_mandelbrot(other)
        assert (counts != other).mean() < 1e-3  # the compilers may contract multiply-adds differently

    return Pair(ours=lambda: configured(counts), peer=lambda: prange_mandelbrot(other), check=check)


def _product() -> Pair:
    a, b = np.random.default_rng(0).random((2, _SIDE, _SIDE), dtype=np.float32)
    c, other = np.zeros_like(a), np.zeros_like(a)
    configured = product[(_SIDE // 16, _SIDE // 16), (16, 16)]
    return Pair(
        ours=lambda: configured(a, b, c),
        peer=lambda: prange_product(a, b, other),
        check=lambda: np.testing.assert_allclose(c, a @ b, rtol=1e-4),
    )


ROWS = (
    Row(name="n-body 2048, tiled", peer="prange", goal=1.0, prepare=_bodies),
    Row(name="Mandelbrot 512^2", peer="prange", goal=1.0, prepare=_mandelbrot),
    Row(name="matmul 512, 16x16 shared tiles", peer="prange, cut by hand", goal=1.0, prepare=_product),
)
