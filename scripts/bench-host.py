#!/usr/bin/env python3
"""Kernels on the host target against numba and NumPy in the same run: saxpy, a block-wide sum, and small launches.

Times of the first two are medians of repeated launches, those of small launches the least of many; each ratio is
gridjit's time over its peer's.
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


@gridjit.jit
def nothing(x):  # type: ignore[no-untyped-def]
    """A launch with an array and without work."""


@numba.njit(parallel=True)
def prange_32(x):  # type: ignore[no-untyped-def]
    """The peer of a launch without work."""
    for i in numba.prange(32):
        x[i] = 0


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000_000, help="items of saxpy (default: %(default)s)")
    parser.add_argument("--sum-size", type=int, default=4_000_000, help="items of the sum (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=31, help="launches of each kind (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    results = {
        "saxpy": _saxpy(given.size, given.repeats),
        "block sum": _block_sum(given.sum_size, given.repeats),
        "one array": _one_array(),
        **{f"saxpy 1e{digits}": _small_saxpy(10**digits) for digits in (3, 4, 5, 6)},
    }
    for name, (peer_name, ours, peer) in results.items():
        print(f"{name:10} gridjit {ours:8.4f} ms   {peer_name} {peer:8.4f} ms   ratio {ours / peer:6.2f}")
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


def _one_array() -> tuple[str, float, float]:
    x = np.zeros(32, np.float32)
    configured = nothing[1, 32]
    ours, peer = _least(1, lambda: configured(x), lambda: prange_32(x))
    return "numba prange", ours, peer


def _small_saxpy(size: int) -> tuple[str, float, float]:
    x, y = np.random.default_rng(0).random((2, size), dtype=np.float32)
    configured, half = saxpy[-(-size // 256), 256], np.float32(0.5)
    ours, peer = _least(size // 1000, lambda: configured(half, x, y), lambda: prange_saxpy(half, x, y))
    return "numba prange", ours, peer


def _least(microseconds: int, *calls: Callable[[], object]) -> list[float]:
    """Return the least time of each call in ms, of many series in turns; microseconds: about what a call takes."""
    often = max(1, 200 // max(1, microseconds))
    least = [float("inf") for _ in calls]
    for _ in range(40):
        for index, call in enumerate(calls):
            started = time.perf_counter()
            for _ in range(often):
                call()
            least[index] = min(least[index], (time.perf_counter() - started) * 1e3 / often)
    return least


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
