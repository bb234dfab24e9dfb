"""n bodies that attract each other: blocks read the positions tile by tile into shared memory."""

import math

import numpy as np

import gridjit
from gridjit import cuda

SOFTENING = 1e-2


@gridjit.jit(specialize="blockdim")
def accelerations(position, mass, out):
    tile = cuda.shared.array((gridjit.static.blockDim.x, 4), np.float64)
    i, thread = cuda.grid(1), cuda.threadIdx.x
    here = min(i, mass.size - 1)
    x, y, z = position[here, 0], position[here, 1], position[here, 2]
    ax = ay = az = 0.0
    for first in range(0, mass.size, cuda.blockDim.x):
        other = first + thread
        for axis in range(3):
            tile[thread, axis] = position[other, axis] if other < mass.size else 0
        tile[thread, 3] = mass[other] if other < mass.size else 0
        cuda.syncthreads()
        for k in range(cuda.blockDim.x):
            dx, dy, dz = tile[k, 0] - x, tile[k, 1] - y, tile[k, 2] - z
            square = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = tile[k, 3] / (square * math.sqrt(square))
            ax, ay, az = ax + pull * dx, ay + pull * dy, az + pull * dz
        cuda.syncthreads()
    if i < mass.size:
        out[i, 0], out[i, 1], out[i, 2] = ax, ay, az


def main():
    n, block = 500, 64
    random = np.random.default_rng(0)
    position, mass = random.normal(size=(n, 3)), random.random(n)
    found = cuda.device_array((n, 3))
    accelerations[-(-n // block), block](cuda.to_device(position), cuda.to_device(mass), found)
    apart = position[None] - position[:, None]
    pull = mass / ((apart**2).sum(axis=2) + SOFTENING) ** 1.5
    np.testing.assert_allclose(found.copy_to_host(), np.einsum("ij,ijk->ik", pull, apart), atol=1e-9)
    print(f"the forces among {n} bodies are right")


if __name__ == "__main__":
    main()
