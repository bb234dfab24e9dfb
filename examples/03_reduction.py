"""A sum with warp shuffles: lanes add their neighbours' values without shared memory, warps meet in 32 words of it."""

import numpy as np

import gridjit
from gridjit import cuda

WARP, ALL = 32, 0xFFFFFFFF


@gridjit.jit(device=True)
def sum_of_warp(value):
    offset = WARP // 2
    while offset:
        value += cuda.shfl_down_sync(ALL, value, offset)
        offset //= 2
    return value  # lane 0 has the sum


@gridjit.jit
def total(x, out):
    warps = cuda.shared.array(WARP, np.float64)
    thread = cuda.threadIdx.x
    value = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value += x[i]
    value = sum_of_warp(value)
    if thread % WARP == 0:
        warps[thread // WARP] = value
    cuda.syncthreads()
    if thread < WARP:
        value = sum_of_warp(warps[thread] if thread < cuda.blockDim.x // WARP else 0.0)
        if thread == 0:
            cuda.atomic.add(out, 0, value)


def main():
    x = np.random.default_rng(0).random(1_000_000)
    out = cuda.to_device(np.zeros(1))
    total[64, 256](cuda.to_device(x), out)
    np.testing.assert_allclose(out.copy_to_host()[0], x.sum())
    print(f"sum of {x.size:,} numbers: {out[0]:.3f}")


if __name__ == "__main__":
    main()
