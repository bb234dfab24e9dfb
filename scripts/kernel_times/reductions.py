"""Kernels that gather items into few: sums by trees and by shuffles, maxima of segments, prefix sums, histograms."""

from __future__ import annotations

import numpy as np
from numba import cuda

from kernel_times.kernel import BARRIER, LOAD, SHARED_ADD, Kernel, floats, whole, zeros

ALL = 0xFFFFFFFF
LEAST = np.float32(-np.inf)


def block_sum(x, out):
    """Each block's sum, by a tree in shared memory."""
    tile = cuda.shared.array(256, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


def warp_sum(x, out):
    """Each block's sum of items a grid apart, by shuffles."""
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    for turn in range(2):
        step = 16
        while step:
            total += cuda.shfl_down_sync(ALL, total, step)
            step >>= 1
        if turn == 0:
            if t % 32 == 0:
                tile[t // 32] = total
            cuda.syncthreads()
            total = tile[t] if t < cuda.blockDim.x // 32 else np.float32(0)
    if t == 0:
        out[cuda.blockIdx.x] = total


def segment_maxima(x, starts, out):
    """Each segment's maximum, a warp a segment."""
    segment, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if segment < out.size:
        most = LEAST
        for i in range(starts[segment] + lane, starts[segment + 1], 32):
            most = max(most, x[i])
        step = 16
        while step:
            most = max(most, cuda.shfl_down_sync(ALL, most, step))
            step >>= 1
        if lane == 0:
            out[segment] = most


def prefix_sums(x, out):
    """Each block's inclusive prefix sums."""
    tile = cuda.shared.array(256, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        before = tile[t - step] if t >= step else np.int32(0)
        cuda.syncthreads()
        tile[t] += before
        cuda.syncthreads()
        step *= 2
    out[i] = tile[t]


def histogram(x, counts):
    """How often each byte occurs, counted in shared memory."""
    bins = cuda.shared.array(256, np.int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, bins[t])


def radix_histogram(keys, shift, counts):
    """How often each digit of four bits occurs in a block's 2048 keys, counted by warp."""
    bins = cuda.shared.array((8, 16), np.int32)
    t = cuda.threadIdx.x
    if t < 128:
        bins[t // 16, t % 16] = 0
    cuda.syncthreads()
    for turn in range(8):
        key = keys[cuda.blockIdx.x * 2048 + turn * 256 + t]
        cuda.atomic.add(bins, (t // 32, (key >> shift) & 15), 1)
    cuda.syncthreads()
    if t < 16:
        total = np.int32(0)
        for warp in range(8):
            total += bins[warp, t]
        counts[t, cuda.blockIdx.x] = total


def _starts(n):
    """Return where segments of about 200 items start, and the last one's end."""
    return np.concatenate(([0], np.cumsum(whole(400, n) + 1))).astype(np.int32)


KERNELS = (
    Kernel(function=block_sum, cuda=r"""
__shared__ float tile[256];
int t = threadIdx.x, i = GRID(x);
tile[t] = i < n ? x[i] : 0.0f;
__syncthreads();
for (int half = blockDim.x / 2; half; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
}
if (t == 0) out[blockIdx.x] = tile[0];""",
        arguments=lambda n: (floats(n), zeros(n // 256)), sizes=(1 << 24, 1 << 12),
        expected=lambda x, _: x.reshape(-1, 256).sum(axis=1), tolerance=1e-6, work=BARRIER, triton="block_sum"),
    Kernel(function=warp_sum, cuda=r"""
__shared__ float tile[32];
int t = threadIdx.x;
float total = 0;
for (int i = GRID(x); i < n; i += blockDim.x * gridDim.x) total += x[i];
for (int turn = 0; turn < 2; turn++) {
    for (int step = 16; step; step >>= 1) total += __shfl_down_sync(0xFFFFFFFF, total, step);
    if (turn == 0) {
        if (t % 32 == 0) tile[t / 32] = total;
        __syncthreads();
        total = t < blockDim.x / 32 ? tile[t] : 0.0f;
    }
}
if (t == 0) out[blockIdx.x] = total;""",
        arguments=lambda n: (floats(n), zeros(n // 16384)), launch=lambda n: ((n // 16384,), (256,)),
        sizes=(1 << 24, 1 << 16), expected=lambda x, out: x.reshape(64, len(out), 256).sum(axis=(0, 2)),
        tolerance=1e-5, work=LOAD),
    Kernel(function=segment_maxima, cuda=r"""
int segment = GRID(x) / 32, lane = threadIdx.x % 32;
if (segment >= n) return;
float most = __int_as_float(0xff800000);
for (int i = starts[segment] + lane, end = starts[segment + 1]; i < end; i += 32) most = fmaxf(most, x[i]);
for (int step = 16; step; step >>= 1) most = fmaxf(most, __shfl_down_sync(0xFFFFFFFF, most, step));
if (lane == 0) out[segment] = most;""",
        arguments=lambda n: (floats(_starts(n)[-1]), _starts(n), zeros(n)), launch=lambda n: ((-(-n // 8),), (256,)),
        sizes=(1 << 16, 100), expected=lambda x, starts, _: np.maximum.reduceat(x, starts[:-1]), work=LOAD),
    Kernel(function=prefix_sums, cuda=r"""
__shared__ int tile[256];
int t = threadIdx.x, i = GRID(x);
tile[t] = x[i];
__syncthreads();
for (int step = 1; step < blockDim.x; step *= 2) {
    int before = t >= step ? tile[t - step] : 0;
    __syncthreads();
    tile[t] += before;
    __syncthreads();
}
out[i] = tile[t];""",
        arguments=lambda n: (whole(1000, n), zeros(n, dtype=np.int32)), sizes=(1 << 24, 1 << 12),
        expected=lambda x, _: x.reshape(-1, 256).cumsum(axis=1).ravel(), work=BARRIER, triton="prefix"),
    Kernel(function=histogram, cuda=r"""
__shared__ int bins[256];
int t = threadIdx.x;
bins[t] = 0;
__syncthreads();
for (int i = GRID(x); i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[x[i]], 1);
__syncthreads();
atomicAdd(&counts[t], bins[t]);""",
        arguments=lambda n: (whole(256, n, dtype=np.uint8), zeros(256, dtype=np.int32)),
        launch=lambda n: ((min(n // 256, 1056),), (256,)), sizes=(1 << 24, 1 << 12),
        expected=lambda x, _: np.bincount(x, minlength=256), work=SHARED_ADD),
    Kernel(function=radix_histogram, cuda=r"""
__shared__ int bins[8][16];
int t = threadIdx.x;
if (t < 128) bins[t / 16][t % 16] = 0;
__syncthreads();
for (int turn = 0; turn < 8; turn++) {
    unsigned key = keys[blockIdx.x * 2048 + turn * 256 + t];
    atomicAdd(&bins[t / 32][(key >> shift) & 15], 1);
}
__syncthreads();
if (t < 16) {
    int total = 0;
    for (int warp = 0; warp < 8; warp++) total += bins[warp][t];
    counts[t * gridDim.x + blockIdx.x] = total;
}""",
        arguments=lambda n: (whole(1 << 32, n, dtype=np.uint32), np.int32(8), zeros(16, n // 2048, dtype=np.int32)),
        launch=lambda n: ((n // 2048,), (256,)), sizes=(1 << 24, 1 << 13),
        expected=lambda keys, shift, _: np.array(
            [[(block >> shift & 15 == d).sum() for block in keys.reshape(-1, 2048)] for d in range(16)]
        ),
        work=SHARED_ADD),
)  # fmt: skip
