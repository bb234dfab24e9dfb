#!/usr/bin/env python3
"""Kernels on the host target against numba and NumPy in the same run: saxpy and a block-wide sum.

Times are medians of repeated launches, in milliseconds; each ratio is gridjit's time over its peer's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

os.environ.setdefault("GRIDJIT_TARGET", "host")

import gridjit
from gridjit import cuda


@gridjit.jit
def saxpy(a, x, y):  # type: ignore[no-untyped-def]
    """y += a * x, one item a thread."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@gridjit.jit
def block_sum(x, out):  # type: ignore[no-untyped-def]
    """Sum each block's items by a tree in shared memory."""
    tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = gridjit.static.blockDim.x // 2
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


@numba.njit(parallel=True)
def prange_saxpy(a, x, y):  # type: ignore[no-untyped-def]
    """The peer of saxpy."""
    for i in numba.prange(x.size):
        y[i] += a * x[i]


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000_000, help="items of saxpy (default: %(default)s)")
    parser.add_argument("--sum-size", type=int, default=4_000_000, help="items of the sum (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=31, help="launches of each kind (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    results = {
        "saxpy": _saxpy(given.size, given.repeats),
        "block sum": _block_sum(given.sum_size, given.repeats),
    }
    for name, (peer_name, ours, peer) in results.items():
        print(f"{name:10} gridjit {ours:7.2f} ms   {peer_name} {peer:7.2f} ms   ratio {ours / peer:6.2f}")
    if given.output:
        given.output.write_text(json.dumps(results, indent=2))


def _saxpy(size: int, repeats: int) -> tuple[str, float, float]:
    x, y = np.random.default_rng(0).random((2, size), dtype=np.float32)
    expected = y + np.float32(0.5) * x
    configured = saxpy[-(-size // 256), 256]
    configured(np.float32(0.5), x, y)
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    ours, peer = _medians(
        repeats, lambda: configured(np.float32(0.5), x, y), lambda: prange_saxpy(np.float32(0.5), x, y)
    )
    return "numba prange", ours, peer


def _block_sum(size: int, repeats: int) -> tuple[str, float, float]:
    x = np.random.default_rng(0).random(size, dtype=np.float32)
    out = np.empty(-(-size // 256), np.float32)
    configured = block_sum[out.size, 256]
    configured(x, out)
    np.testing.assert_allclose(out.sum(dtype=np.float64), x.sum(dtype=np.float64), rtol=1e-5)
    ours, peer = _medians(repeats, lambda: configured(x, out), x.sum)
    return "numpy sum   ", ours, peer


def _medians(repeats: int, *calls: Callable[[], object]) -> list[float]:
    """Return each call's median in ms; the calls take turns, so that all see the same machine."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats + 2):
        for call, series in zip(calls, times, strict=True):
            started = time.perf_counter()
            call()
            series.append((time.perf_counter() - started) * 1e3)
    return [statistics.median(series[2:]) for series in times]


if __name__ == "__main__":
    main()
