"""A histogram: each block counts in shared memory, then adds its counts to the result by atomic operations."""

import numpy as np

import gridjit
from gridjit import cuda

BINS = 64


@gridjit.jit
def histogram(values, counts):
    mine = cuda.shared.array(BINS, np.int32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, min(int(values[i] * BINS), BINS - 1), 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])


def main():
    values = np.random.default_rng(0).random(1_000_000)
    counts = cuda.to_device(np.zeros(BINS, np.int32))
    histogram[128, 256](cuda.to_device(values), counts)
    wanted, _ = np.histogram(values, BINS, (0, 1))
    assert (counts.copy_to_host() == wanted).all()
    print(f"{values.size:,} values in {BINS} bins are counted right")


if __name__ == "__main__":
    main()
