"""Running totals: each block scans its part, the blocks' totals are scanned in turn, and are added to the parts."""

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def scan_blocks(x, totals):
    tile = cuda.shared.array(gridjit.static.blockDim.x, np.int64)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    reach = 1
    while reach < gridjit.static.blockDim.x:
        cuda.syncthreads()
        before = tile[thread - reach] if thread >= reach else 0
        cuda.syncthreads()
        tile[thread] += before
        reach *= 2
    if i < x.size:
        x[i] = tile[thread]
    if thread == gridjit.static.blockDim.x - 1:
        totals[cuda.blockIdx.x] = tile[thread]


@gridjit.jit
def add_before(x, totals):
    i = cuda.grid(1)
    if cuda.blockIdx.x > 0 and i < x.size:
        x[i] += totals[cuda.blockIdx.x - 1]


def scan(x, block=256):
    """Replace a device array's numbers by their running totals."""
    grid = -(-x.size // block)
    totals = cuda.device_array(grid, np.int64)
    scan_blocks[grid, block](x, totals)
    if grid > 1:
        scan(totals, block)
        add_before[grid, block](x, totals)


def main():
    numbers = np.random.default_rng(0).integers(-100, 100, 1_000_000)
    x = cuda.to_device(numbers)
    scan(x)
    assert (x.copy_to_host() == numbers.cumsum()).all()
    assert len(scan_blocks.specializations) == 1  # three grids, one block size
    print(f"{numbers.size:,} running totals are right, with one specialization for three grids")


if __name__ == "__main__":
    main()
