"""The demo's work, in a process of its own: launches block_sum and prints one JSON line before and after each."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda

BLOCKS = (64, 128, 256)


@gridjit.jit
def block_sum(x, out):  # type: ignore[no-untyped-def]
    """Sum x into out by a tree in shared memory; several items a thread when the grid is small."""
    tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
    thread = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    tile[thread] = total
    cuda.syncthreads()
    half = gridjit.static.blockDim.x // 2
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


def launches(size: int) -> list[tuple[int, int]]:
    """Return the (grid, block) sizes of the demo: each block size with one block for every item, and with fewer."""
    return [(grid, block) for block in BLOCKS for grid in (-(-size // block), -(-size // (8 * block)))]


def launch(x: Any, grid: int, block: int) -> dict[str, Any]:
    """Launch block_sum twice, the first time to get the code, and return a report of the launch."""
    out = np.empty(grid, np.float32)
    before = (block_sum.stats.compiles, block_sum.stats.disk_hits)
    started = time.perf_counter()
    block_sum[grid, block](x, out)
    first = time.perf_counter()
    block_sum[grid, block](x, out)
    run_ms = (time.perf_counter() - first) * 1e3
    compiled, found = block_sum.stats.compiles - before[0], block_sum.stats.disk_hits - before[1]
    config = gridjit.LaunchConfig.of(grid, block)
    used = next(found for found in block_sum.specializations if found.footprint.matches(config))
    return {
        "grid": grid,
        "block": block,
        "code": "compiled" if compiled else "from disk" if found else "reused",
        "depends_on": str(used.footprint),
        "get_ms": max(0.0, (first - started) * 1e3 - run_ms),
        "run_ms": run_ms,
        "right": bool(np.isclose(out.sum(dtype=np.float64), x.sum(dtype=np.float64), rtol=1e-5)),
    }


def main() -> None:
    """Run every launch of the demo."""
    size = int(sys.argv[1])
    x = np.random.default_rng(7).random(size, dtype=np.float32)
    for grid, block in launches(size):
        print(json.dumps({"begin": f"block_sum[{grid}, {block}]"}), flush=True)
        print(json.dumps(launch(x, grid, block)), flush=True)


if __name__ == "__main__":
    main()
