#!/usr/bin/env python3
"""What jit(specialize=("blockdim",)) gains: the same kernels with the launch's block as a constant and as a register.

Times are medians of launches on the device, in microseconds, by events; registers and occupancy as the driver says.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda


def row_sums(x, out):  # type: ignore[no-untyped-def]
    """Sum each row of x: strided loads, then a tree in shared memory whose depth is the block's."""
    tile = cuda.shared.array(1024, np.float32)
    thread = cuda.threadIdx.x
    total = np.float32(0)
    for column in range(thread, x.shape[1], cuda.blockDim.x):
        total += x[cuda.blockIdx.x, column]
    tile[thread] = total
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


def tile_products(a, b, out):  # type: ignore[no-untyped-def]
    """Multiply square matrices by tiles of the block's size, a thread an element."""
    left = cuda.shared.array((32, 32), np.float32)
    right = cuda.shared.array((32, 32), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for step in range(a.shape[1] // cuda.blockDim.x):
        left[y, x] = a[row, step * cuda.blockDim.x + x]
        right[y, x] = b[step * cuda.blockDim.y + y, column]
        cuda.syncthreads()
        for k in range(cuda.blockDim.x):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    out[row, column] = total


def main() -> None:
    """Print a line for each kernel and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=101, help="launches of each kind (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write what was measured as JSON to this file")
    given = parser.parse_args()
    if not cuda.is_available():
        parser.exit(2, "this measures a GPU, and there is no CUDA device here\n")
    random = np.random.default_rng(0)
    x = random.random((20_000, 1024), dtype=np.float32)
    a, b = random.random((2, 2048, 2048), dtype=np.float32)
    results = {
        "row_sums": _compare(row_sums, (len(x), 128), (x,), (len(x),), x.sum(axis=1), given.repeats),
        "tile_products": _compare(tile_products, ((128, 128), (16, 16)), (a, b), a.shape, a @ b, given.repeats),
    }
    for name, ways in results.items():
        for way, found in ways.items():
            print(f"{name:14} {way:12} {found['us']:9.1f} us  {found['registers']:3} registers")
        print(f"{name:14} gain         {ways['as launched']['us'] / ways['specialized']['us']:9.2f} x")
    if given.output:
        given.output.write_text(json.dumps(results, indent=2))


def _compare(
    function: Callable[..., Any], launch: Any, inputs: Any, shape: Any, expected: Any, repeats: int
) -> dict[str, dict[str, float]]:
    arrays = [cuda.to_device(array) for array in inputs]
    out = cuda.device_array(shape, np.float32)
    kernels = {
        "as launched": gridjit.jit(function),
        "specialized": gridjit.jit(specialize=("blockdim",))(function),
    }
    times: dict[str, list[float]] = {way: [] for way in kernels}
    for way, kernel in kernels.items():
        kernel[launch](*arrays, out)
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-3)
        times[way].clear()
    for _ in range(repeats):
        for way, kernel in kernels.items():
            start, end = cuda.event(), cuda.event()
            start.record()
            kernel[launch](*arrays, out)
            end.record()
            end.synchronize()
            times[way].append(cuda.event_elapsed_time(start, end) * 1e3)
    return {
        way: {
            "us": statistics.median(times[way]),
            "registers": next(iter(kernel.get_regs_per_thread().values())),
        }
        for way, kernel in kernels.items()
    }


if __name__ == "__main__":
    main()
