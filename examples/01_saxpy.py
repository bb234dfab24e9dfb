"""saxpy: y = a * x + y, one thread for each item. The smallest useful kernel."""

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:  # the last block may be longer than the rest of the array
        y[i] = a * x[i] + y[i]


def main():
    n, block = 1_000_000, 256
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    on_device = cuda.to_device(y)
    saxpy[-(-n // block), block](np.float32(2), cuda.to_device(x), on_device)
    np.testing.assert_allclose(on_device.copy_to_host(), 2 * x + y)
    print(f"saxpy of {n:,} floats is right")


if __name__ == "__main__":
    main()
