"""Kernels on dense matrices: products of float32, float64 and float16, in tiles, and of many small matrices; n-body."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numba import cuda

from kernel_times.kernel import FMA, Kernel, blocks, floats, zeros


def matrix_product(a, b, c):
    """An item of the product a thread."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def matrix_product_f64(a, b, c):
    """The same of float64."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def matrix_product_f16(a, b, c):
    """The same of float16, summed as float32."""
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += np.float32(a[i, k]) * np.float32(b[k, j])
        c[i, j] = total


def matrix_product_tiled(a, b, c):
    """Tiles of 16 x 16 in shared memory; the sides are multiples of 16."""
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


def products_8x8(a, b, c):
    """Products of 8 x 8 matrices, a row a thread."""
    thread = cuda.grid(1)
    m, i = thread // 8, thread % 8
    if m < c.shape[0]:
        row = cuda.local.array(8, np.float32)
        for k in range(8):
            row[k] = a[m, i, k]
        for j in range(8):
            total = np.float32(0)
            for k in range(8):
                total += row[k] * b[m, k, j]
            c[m, i, j] = total


def n_body(x, y, z, out):
    """The forces on bodies of one mass."""
    i = cuda.grid(1)
    if i < x.size:
        fx = fy = fz = np.float32(0)
        for j in range(x.size):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            square = dx * dx + dy * dy + dz * dz + np.float32(0.01)
            near = np.float32(1) / (square * math.sqrt(square))
            fx += dx * near
            fy += dy * near
            fz += dz * near
        out[0, i], out[1, i], out[2, i] = fx, fy, fz


def _forces(x, y, z, _):
    apart = np.array([axis[None, :] - axis[:, None] for axis in (x, y, z)], np.float64)
    return (apart * ((apart**2).sum(axis=0) + 0.01) ** -1.5).sum(axis=2)


_PRODUCT = Kernel(
    function=matrix_product,
    cuda=r"""
int j = GRID(x), i = GRID(y);
if (i >= n || j >= n) return;
float total = 0;
for (int k = 0; k < n; k++) total += float(a[i * n + k]) * float(b[k * n + j]);
c[i * n + j] = total;""",
    arguments=lambda n: (floats(n, n), floats(n, n, seed=1), zeros(n, n)),
    launch=blocks(16, 16),
    sizes=(2048, 80),
    expected=lambda a, b, _: a.astype(np.float64) @ b.astype(np.float64),
    tolerance=1e-5,
    work=FMA,
)

KERNELS = (
    _PRODUCT,
    replace(_PRODUCT, function=matrix_product_f64, cuda=_PRODUCT.cuda.replace("float", "double"),
        arguments=lambda n: tuple(floats(n, n, dtype=np.float64, seed=seed) for seed in range(3)), tolerance=1e-12),
    replace(_PRODUCT, function=matrix_product_f16,
        arguments=lambda n: (*(floats(n, n, dtype=np.float16, seed=seed) for seed in range(2)), zeros(n, n)),
        tolerance=1e-4),
    replace(_PRODUCT, function=matrix_product_tiled, cuda=r"""
__shared__ float left[16][16], right[16][16];
int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
float total = 0;
for (int start = 0; start < n; start += 16) {
    left[ty][tx] = a[i * n + start + tx];
    right[ty][tx] = b[(start + ty) * n + j];
    __syncthreads();
    for (int k = 0; k < 16; k++) total += left[ty][k] * right[k][tx];
    __syncthreads();
}
c[i * n + j] = total;""",
        triton="product"),
    Kernel(function=products_8x8, cuda=r"""
int thread = GRID(x), m = thread / 8, i = thread % 8;
if (m >= n) return;
float row[8];
for (int k = 0; k < 8; k++) row[k] = a[m * 64 + i * 8 + k];
for (int j = 0; j < 8; j++) {
    float total = 0;
    for (int k = 0; k < 8; k++) total += row[k] * b[m * 64 + k * 8 + j];
    c[m * 64 + i * 8 + j] = total;
}""",
        arguments=lambda n: (floats(n, 8, 8), floats(n, 8, 8, seed=1), zeros(n, 8, 8)),
        launch=lambda n: ((-(-n // 32),), (256,)), sizes=(1 << 17, 99), expected=lambda a, b, _: a @ b,
        tolerance=1e-5, work=FMA),
    Kernel(function=n_body, cuda=r"""
int i = GRID(x);
if (i >= n) return;
float fx = 0, fy = 0, fz = 0;
for (int j = 0; j < n; j++) {
    float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
    float square = dx * dx + dy * dy + dz * dz + 0.01f, near = 1.0f / (square * sqrtf(square));
    fx += dx * near;
    fy += dy * near;
    fz += dz * near;
}
out[i] = fx;
out[n + i] = fy;
out[2 * n + i] = fz;""",
        arguments=lambda n: (*(floats(n, seed=seed) for seed in range(3)), zeros(3, n)), sizes=(16384, 500),
        expected=_forces, tolerance=1e-4, work=FMA),
)  # fmt: skip
