"""Kernels that combine neighbours: stencils of two to four dimensions, Jacobi's step, MG's residual, a convolution."""

from __future__ import annotations

import numpy as np
from numba import cuda

from kernel_times.kernel import FMA, Kernel, blocks, floats, zeros


def stencil_2d(x, out):
    """The mean of four neighbours, inside."""
    j, i = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        out[i, j] = np.float32(0.25) * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def stencil_3d(x, out):
    """Seven points, inside."""
    k, j, i = cuda.grid(3)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1 and 0 < k < x.shape[2] - 1:
        out[i, j, k] = (
            x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
        ) - np.float32(6) * x[i, j, k]


def stencil_4d(u, step, rhs):
    """Five variables at each point of a grid, inside."""
    k, j, i = cuda.grid(3)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[2] - 1:
        for m in range(5):
            middle = 2.0 * u[i, j, k, m]
            rhs[i, j, k, m] = u[i, j, k, m] + step * (
                (u[i + 1, j, k, m] - middle + u[i - 1, j, k, m])
                + (u[i, j + 1, k, m] - middle + u[i, j - 1, k, m])
                + (u[i, j, k + 1, m] - middle + u[i, j, k - 1, m])
            )


def jacobi(x, f, out):
    """A step of Jacobi's iteration for Poisson's equation on a torus."""
    j, i = cuda.grid(2)
    rows, columns = x.shape
    if i < rows and j < columns:
        up, down = i - 1 if i > 0 else rows - 1, i + 1 if i < rows - 1 else 0
        left, right = j - 1 if j > 0 else columns - 1, j + 1 if j < columns - 1 else 0
        out[i, j] = np.float32(0.25) * (x[up, j] + x[down, j] + x[i, left] + x[i, right] - f[i, j])


def mg_residual(u, v, a, r):
    """The residual of the NAS program MG: 27 points by their distance, inside."""
    k, j, i = cuda.grid(3)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[2] - 1:
        edges = corners = 0.0
        for d in range(-1, 2):
            faces = u[i, j - 1, k + d] + u[i, j + 1, k + d] + u[i - 1, j, k + d] + u[i + 1, j, k + d]
            far = u[i - 1, j - 1, k + d] + u[i - 1, j + 1, k + d] + u[i + 1, j - 1, k + d] + u[i + 1, j + 1, k + d]
            if d == 0:
                edges += far
            else:
                edges += faces
                corners += far
        r[i, j, k] = v[i, j, k] - a[0] * u[i, j, k] - a[2] * edges - a[3] * corners


def convolution(x, weights, out):
    """Five by five weights over tiles of 16 x 16 and their halo in shared memory, zeros around."""
    tile = cuda.shared.array((20, 20), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    for y in range(ty, 20, 16):
        for z in range(tx, 20, 16):
            i, j = row + y - 2, column + z - 2
            inside = 0 <= i < x.shape[0] and 0 <= j < x.shape[1]
            tile[y, z] = x[i, j] if inside else np.float32(0)
    cuda.syncthreads()
    total = np.float32(0)
    for y in range(5):
        for z in range(5):
            total += weights[y, z] * tile[ty + y, tx + z]
    if row + ty < out.shape[0] and column + tx < out.shape[1]:
        out[row + ty, column + tx] = total


def _inside(values, axes):
    """Return an array of zeros, with the values inside in so many axes."""
    around = [(1, 1)] * axes + [(0, 0)] * (values.ndim - axes)
    return np.pad(values, around)


def _at(x, *steps):
    """Return the inner part of x, moved by steps."""
    return x[tuple(slice(1 + step, x.shape[axis] - 1 + step) for axis, step in enumerate(steps))]


def _near(x, axes):
    """Return the sum of the nearest neighbours in so many axes."""
    return sum(_at(x, *(step * (axis == moved) for axis in range(axes))) for moved in range(axes) for step in (-1, 1))


def _residual(u, v, a, _):
    sums = [np.zeros_like(u[1:-1, 1:-1, 1:-1]) for _ in range(4)]
    for steps in np.ndindex(3, 3, 3):
        sums[sum(step != 1 for step in steps)] += _at(u, *(step - 1 for step in steps))
    return _inside(_at(v, 0, 0, 0) - a[0] * sums[0] - a[2] * sums[2] - a[3] * sums[3], 3)


def _convolved(x, weights, _):
    rows, columns = x.shape
    padded = np.pad(x, 2)
    return sum(weights[y, z] * padded[y : y + rows, z : z + columns] for y, z in np.ndindex(5, 5))


KERNELS = (
    Kernel(function=stencil_2d, cuda=r"""
int j = GRID(x), i = GRID(y);
if (i > 0 && i < n - 1 && j > 0 && j < n - 1) {
    int at = i * n + j;
    out[at] = 0.25f * (x[at - n] + x[at + n] + x[at - 1] + x[at + 1]);
}""",
        arguments=lambda n: (floats(n, n), zeros(n, n)), launch=blocks(32, 8), sizes=(4096, 100),
        expected=lambda x, _: _inside(_near(x, 2) / 4, 2), tolerance=1e-6, triton="stencil"),
    Kernel(function=stencil_3d, cuda=r"""
int k = GRID(x), j = GRID(y), i = GRID(z);
if (i > 0 && i < n - 1 && j > 0 && j < n - 1 && k > 0 && k < n - 1) {
    int at = (i * n + j) * n + k;
    out[at] = x[at - n * n] + x[at + n * n] + x[at - n] + x[at + n] + x[at - 1] + x[at + 1] - 6.0f * x[at];
}""",
        arguments=lambda n: (floats(n, n, n), zeros(n, n, n)), launch=blocks(32, 4, 2), sizes=(256, 30),
        expected=lambda x, _: _inside(_near(x, 3) - 6 * _at(x, 0, 0, 0), 3), tolerance=1e-6),
    Kernel(function=stencil_4d, cuda=r"""
int k = GRID(x), j = GRID(y), i = GRID(z), row = 5 * n, plane = row * n;
if (i > 0 && i < n - 1 && j > 0 && j < n - 1 && k > 0 && k < n - 1)
    for (int m = 0; m < 5; m++) {
        int at = i * plane + j * row + k * 5 + m;
        double middle = 2.0 * u[at];
        rhs[at] = u[at] + step * ((u[at + plane] - middle + u[at - plane]) + (u[at + row] - middle + u[at - row]) +
                                  (u[at + 5] - middle + u[at - 5]));
    }""",
        arguments=lambda n: (
            floats(n, n, n, 5, dtype=np.float64),
            np.float64(0.1),
            zeros(n, n, n, 5, dtype=np.float64),
        ),
        launch=blocks(32, 4, 2), sizes=(96, 20),
        expected=lambda u, step, _: _inside(_at(u, 0, 0, 0) + step * (_near(u, 3) - 6 * _at(u, 0, 0, 0)), 3),
        tolerance=1e-13),
    Kernel(function=jacobi, cuda=r"""
int j = GRID(x), i = GRID(y);
if (i >= n || j >= n) return;
int up = i > 0 ? i - 1 : n - 1, down = i < n - 1 ? i + 1 : 0;
int left = j > 0 ? j - 1 : n - 1, right = j < n - 1 ? j + 1 : 0;
out[i * n + j] = 0.25f * (x[up * n + j] + x[down * n + j] + x[i * n + left] + x[i * n + right] - f[i * n + j]);""",
        arguments=lambda n: (floats(n, n), floats(n, n, seed=1), zeros(n, n)), launch=blocks(32, 8),
        sizes=(4096, 100),
        expected=lambda x, f, _: (sum(np.roll(x, by, axis) for by in (-1, 1) for axis in (0, 1)) - f) / 4,
        tolerance=1e-6),
    Kernel(function=mg_residual, cuda=r"""
int k = GRID(x), j = GRID(y), i = GRID(z), p = n * n;
if (i <= 0 || i >= n - 1 || j <= 0 || j >= n - 1 || k <= 0 || k >= n - 1) return;
double edges = 0, corners = 0;
for (int d = -1; d < 2; d++) {
    const double* __restrict__ w = u + (i * n + j) * n + k + d;
    double faces = w[-n] + w[n] + w[-p] + w[p], far = w[-p - n] + w[-p + n] + w[p - n] + w[p + n];
    if (d == 0) {
        edges += far;
    } else {
        edges += faces;
        corners += far;
    }
}
int at = (i * n + j) * n + k;
r[at] = v[at] - a[0] * u[at] - a[2] * edges - a[3] * corners;""",
        arguments=lambda n: (
            *(floats(n, n, n, dtype=np.float64, seed=seed) for seed in range(2)),
            np.array([-8 / 3, 0, 1 / 6, 1 / 12]),
            zeros(n, n, n, dtype=np.float64),
        ),
        launch=blocks(32, 4, 2), sizes=(258, 20), expected=_residual, tolerance=1e-13),
    Kernel(function=convolution, cuda=r"""
__shared__ float tile[20][20];
int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16, row = blockIdx.y * 16;
for (int y = ty; y < 20; y += 16)
    for (int z = tx; z < 20; z += 16) {
        int i = row + y - 2, j = column + z - 2;
        bool inside = i >= 0 && i < n && j >= 0 && j < n;
        tile[y][z] = inside ? x[i * n + j] : 0.0f;
    }
__syncthreads();
float total = 0;
for (int y = 0; y < 5; y++)
    for (int z = 0; z < 5; z++) total += weights[y * 5 + z] * tile[ty + y][tx + z];
if (row + ty < n && column + tx < n) out[(row + ty) * n + column + tx] = total;""",
        arguments=lambda n: (floats(n, n), floats(5, 5, seed=1), zeros(n, n)), launch=blocks(16, 16),
        sizes=(4096, 100), expected=_convolved, tolerance=1e-5, work=FMA),
)  # fmt: skip
