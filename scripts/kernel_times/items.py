"""Kernels that compute items of arrays one by one: saxpy, Black-Scholes, Mandelbrot, gather and scatter, transpose."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numba import cuda

from kernel_times.kernel import LOAD, Kernel, blocks, floats, zeros

ROOT_HALF = np.float32(math.sqrt(0.5))
ONE, HALF = np.float32(1), np.float32(0.5)


def saxpy(a, x, y, out):
    """A thread an item."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def saxpy_grid_stride(a, x, y, out):
    """A thread many items, a grid apart."""
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a * x[i] + y[i]


def black_scholes(price, strike, years, rate, volatility, call, put):
    """European options."""
    i = cuda.grid(1)
    if i < price.size:
        root = math.sqrt(years[i])
        first = math.log(price[i] / strike[i]) + (rate + HALF * volatility * volatility) * years[i]
        first /= volatility * root
        second = first - volatility * root
        paid = strike[i] * math.exp(-rate * years[i])
        near, far = HALF * math.erfc(-first * ROOT_HALF), HALF * math.erfc(-second * ROOT_HALF)
        call[i] = price[i] * near - paid * far
        put[i] = paid * (ONE - far) - price[i] * (ONE - near)


def mandelbrot(counts):
    """Each point's turns until it leaves the set, at most 256."""
    j, i = cuda.grid(2)
    if i < counts.shape[0] and j < counts.shape[1]:
        re, im = j * 3.0 / counts.shape[1] - 2.0, i * 2.0 / counts.shape[0] - 1.0
        x = y = 0.0
        turns = 0
        while turns < 256 and x * x + y * y < 4.0:
            x, y = x * x - y * y + re, 2.0 * x * y + im
            turns += 1
        counts[i, j] = turns


def gather_scatter(x, source, target, out):
    """Items from one order to another."""
    i = cuda.grid(1)
    if i < source.size:
        out[target[i]] = x[source[i]]


def transpose(x, out):
    """Tiles of 32 x 32 in shared memory, a thread four items of one."""
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(0, 32, 8):
        tile[ty + j, tx] = x[row + ty + j, column + tx]
    cuda.syncthreads()
    for j in range(0, 32, 8):
        out[column + ty + j, row + tx] = tile[tx, ty + j]


def _turns(counts):
    j, i = np.meshgrid(*(np.arange(side) for side in counts.shape[::-1]))
    c = j * 3.0 / counts.shape[1] - 2 + (i * 2.0 / counts.shape[0] - 1) * 1j
    z, turns = np.zeros_like(c), np.zeros(counts.shape, np.int32)
    for _ in range(256):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        turns += inside
    return turns


def _options(price, strike, years, rate, volatility, *_):
    root = volatility * np.sqrt(years)
    first = (np.log(price / strike) + (rate + volatility**2 / 2) * years) / root
    near, far = ([0.5 * math.erfc(-x * ROOT_HALF) for x in d] for d in (first, first - root))
    paid = strike * np.exp(-rate * years)
    return price * near - paid * far, paid * (1 - np.array(far)) - price * (1 - np.array(near))


_SAXPY = Kernel(
    function=saxpy,
    cuda=r"""
int i = GRID(x);
if (i < n) out[i] = a * x[i] + y[i];""",
    arguments=lambda n: (np.float32(2.5), floats(n), floats(n, seed=1), zeros(n)),
    sizes=(1 << 24, 5000),
    expected=lambda a, x, y, _: a * x + y,
    tolerance=1e-6,
    triton="saxpy",
)

KERNELS = (
    _SAXPY,
    replace(_SAXPY, function=saxpy_grid_stride, cuda=r"""
for (int i = GRID(x); i < n; i += blockDim.x * gridDim.x) out[i] = a * x[i] + y[i];""",
        launch=lambda n: ((min(-(-n // 256), 1056),), (256,)), work=r"st\.global|STG", triton=""),
    Kernel(function=black_scholes, cuda=r"""
int i = GRID(x);
if (i >= n) return;
float s = price[i], k = strike[i], t = years[i], root = sqrtf(t);
float first = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
float second = first - volatility * root, paid = k * expf(-rate * t);
float near = 0.5f * erfcf(-first * 0.70710678f), far = 0.5f * erfcf(-second * 0.70710678f);
call[i] = s * near - paid * far;
put[i] = paid * (1.0f - far) - s * (1.0f - near);""",
        arguments=lambda n: (
            *(low + wide * floats(n, seed=i) for i, (low, wide) in enumerate(((5, 25), (1, 99), (0.25, 9.75)))),
            np.float32(0.02),
            np.float32(0.3),
            zeros(n),
            zeros(n),
        ),
        sizes=(1 << 22, 5000), out=(5, 6), expected=_options, tolerance=1e-5),
    Kernel(function=mandelbrot, cuda=r"""
int j = GRID(x), i = GRID(y);
if (i >= n || j >= n) return;
double re = j * 3.0 / n - 2.0, im = i * 2.0 / n - 1.0, x = 0, y = 0;
int turns = 0;
while (turns < 256 && x * x + y * y < 4.0) {
    double next = x * x - y * y + re;
    y = 2.0 * x * y + im;
    x = next;
    turns++;
}
counts[i * n + j] = turns;""",
        arguments=lambda n: (zeros(n, n, dtype=np.int32),), launch=blocks(32, 8), sizes=(1024, 100), expected=_turns,
        apart=1e-2, work=r"setp\.\w+\.f64|DSETP"),
    Kernel(function=gather_scatter, cuda=r"""
int i = GRID(x);
if (i < n) out[target[i]] = x[source[i]];""",
        arguments=lambda n: (
            floats(n),
            *(np.random.default_rng(seed).permutation(n).astype(np.int32) for seed in range(2)),
            zeros(n),
        ),
        sizes=(1 << 22, 5000), expected=lambda x, source, target, _: x[source][np.argsort(target)]),
    Kernel(function=transpose, cuda=r"""
__shared__ float tile[32][33];
int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 32, row = blockIdx.y * 32;
for (int j = 0; j < 32; j += 8) tile[ty + j][tx] = x[(row + ty + j) * n + column + tx];
__syncthreads();
for (int j = 0; j < 32; j += 8) out[(column + ty + j) * n + row + tx] = tile[tx][ty + j];""",
        arguments=lambda n: (floats(n, n), zeros(n, n)), launch=lambda n: ((n // 32, n // 32), (32, 8)),
        sizes=(4096, 96), expected=lambda x, _: x.T, work=LOAD),
)  # fmt: skip
