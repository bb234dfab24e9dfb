"""Kernels in which the threads of a block work together on sums: reductions, a scan, and histograms."""
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import numba
import numpy as np

import gridjit
from gridjit import cuda
from host_times.rows import Pair, Row

_SIZE = 1_000_000
_BINS = 256


@gridjit.jit
def block_sum(x, out):
    """Sum each block's items by a tree in shared memory."""
    tile = cuda.shared.array(256, np.float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 128
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


@gridjit.jit
def stride_sum(x, out):
    """Sum in grid-stride loops, then by a tree in shared memory."""
    tile = cuda.shared.array(256, np.float32)
    thread = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    tile[thread] = total
    cuda.syncthreads()
    half = 128
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


@gridjit.jit
def shuffle_sum(x, out):
    """Sum each block's items by warp shuffles."""
    warps = cuda.shared.array(8, np.float32)
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        warps[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        for warp in range(8):
            total += warps[warp]
        out[cuda.blockIdx.x] = total


@numba.njit(parallel=True)
def prange_sum(x):
    """The peer of the sums."""
    total = np.float32(0)
    for i in numba.prange(x.size):
        total += x[i]
    return total


@gridjit.jit
def block_scan(x, out, totals):
    """The running sum of each block's items, by Hillis and Steele's steps in shared memory, and each block's total."""
    tile = cuda.shared.array(256, np.float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < 256:
        value = tile[thread]
        if thread >= step:
            value += tile[thread - step]
        cuda.syncthreads()
        tile[thread] = value
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = tile[thread]
    if thread == 255:
        totals[cuda.blockIdx.x] = tile[255]


@numba.njit
def njit_scan(x, out):
    """The peer of block_scan."""
    total = np.float32(0)
    for i in range(x.size):
        total += x[i]
        out[i] = total


@gridjit.jit
def histogram(x, bins):
    """Count bytes in a histogram of each block's own."""
    counts = cuda.shared.array(256, np.int32)
    thread = cuda.threadIdx.x
    counts[thread] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, thread, counts[thread])


@gridjit.jit
def histogram_strides(x, bins):
    """The same in grid-stride loops."""
    counts = cuda.shared.array(256, np.int32)
    thread = cuda.threadIdx.x
    counts[thread] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, thread, counts[thread])


@numba.njit(parallel=True)
def prange_histogram(x, bins):
    """The peer of the histograms: one for each thread."""
    threads = numba.get_num_threads()
    private = np.zeros((threads, 256), np.int32)
    for thread in numba.prange(threads):
        for i in range(thread * x.size // threads, (thread + 1) * x.size // threads):
            private[thread, x[i]] += 1
    for thread in range(threads):
        for one in range(256):
            bins[one] += private[thread, one]


def _sum(kernel, blocks: int) -> Pair:
    x = np.random.default_rng(0).random(_SIZE, dtype=np.float32)
    out = np.empty(blocks, np.float32)
    configured = kernel[blocks, 256]

    def check() -> None:
        np.testing.assert_allclose(out.sum(dtype=np.float64), x.sum(dtype=np.float64), rtol=1e-5)

    return Pair(ours=lambda: configured(x, out), peer=lambda: prange_sum(x), check=check)


def _scan() -> Pair:
    x = np.random.default_rng(0).random(_SIZE, dtype=np.float32)
    blocks = -(-_SIZE // 256)
    out, other, totals = np.empty_like(x), np.empty_like(x), np.empty(blocks, np.float32)
    configured = block_scan[blocks, 256]

    def check() -> None:
        padded = np.zeros(blocks * 256)
        padded[:_SIZE] = x
        expected = padded.reshape(blocks, 256).cumsum(axis=1)
        np.testing.assert_allclose(out, expected.ravel()[:_SIZE], rtol=1e-5)
        np.testing.assert_allclose(totals, expected[:, -1], rtol=1e-5)

    return Pair(ours=lambda: configured(x, out, totals), peer=lambda: njit_scan(x, other), check=check)


def _histogram(kernel, blocks: int) -> Pair:
    x = np.random.default_rng(0).integers(0, _BINS, _SIZE, dtype=np.uint8)
    bins, other = np.zeros((2, _BINS), np.int32)
    configured = kernel[blocks, 256]
    return Pair(
        ours=lambda: configured(x, bins),
        peer=lambda: prange_histogram(x, other),
        check=lambda: np.testing.assert_array_equal(bins, np.bincount(x, minlength=_BINS)),
    )


_ALL = -(-_SIZE // 256)
ROWS = (
    Row(name="block reduction 1e6", peer="prange sum", goal=2.0, prepare=lambda: _sum(block_sum, _ALL)),
    Row(name="grid-stride and tree reduction", peer="prange sum", goal=1.5, prepare=lambda: _sum(stride_sum, 64)),
    Row(name="prefix scan 1e6", peer="njit, one thread", goal=2.0, prepare=_scan),
    Row(name="shared histogram 1e6", peer="prange, private", goal=2.0, prepare=lambda: _histogram(histogram, _ALL)),
    Row(
        name="shared histogram, grid-stride",
        peer="prange, private",
        goal=1.5,
        prepare=lambda: _histogram(histogram_strides, 64),
    ),
    Row(name="warp-shuffle reduction 1e6", peer="prange sum", goal=3.0, prepare=lambda: _sum(shuffle_sum, _ALL)),
)
