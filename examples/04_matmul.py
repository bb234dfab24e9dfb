"""A matrix product by tiles of the launched block's size: one kernel for every block, compiled once for each."""

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def matmul(a, b, c):
    side = gridjit.static.blockDim.x  # known when the kernel is compiled, so it may be a shape
    a_tile = cuda.shared.array((gridjit.static.blockDim.x, gridjit.static.blockDim.x), np.float32)
    b_tile = cuda.shared.array((gridjit.static.blockDim.x, gridjit.static.blockDim.x), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for first in range(0, a.shape[1], side):
        inside_a = row < a.shape[0] and first + x < a.shape[1]
        inside_b = first + y < b.shape[0] and column < b.shape[1]
        a_tile[y, x] = a[row, first + x] if inside_a else 0
        b_tile[y, x] = b[first + y, column] if inside_b else 0
        cuda.syncthreads()
        for k in range(side):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main():
    random = np.random.default_rng(0)
    a, b = random.random((100, 70), np.float32), random.random((70, 90), np.float32)
    for side in (8, 16):
        c = cuda.device_array((100, 90), np.float32)
        matmul[(-(-90 // side), -(-100 // side)), (side, side)](cuda.to_device(a), cuda.to_device(b), c)
        np.testing.assert_allclose(c.copy_to_host(), a @ b, rtol=1e-5)
    print("products by tiles of 8 and 16 are right;", *(found.footprint for found in matmul.specializations), sep=" ")


if __name__ == "__main__":
    main()
