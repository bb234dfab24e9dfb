"""Heat that spreads on a plate: a 5-point stencil, its steps recorded once as a graph and run many times."""

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def diffuse(old, new):
    column, row = cuda.grid(2)  # x, the fastest axis of a block, runs along the rows' items
    if 0 < row < old.shape[0] - 1 and 0 < column < old.shape[1] - 1:
        around = old[row - 1, column] + old[row + 1, column] + old[row, column - 1] + old[row, column + 1]
        new[row, column] = old[row, column] + 0.2 * (around - 4 * old[row, column])


def expected(plate, steps):
    for _ in range(steps):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate = plate.copy()
        plate[1:-1, 1:-1] = inner + 0.2 * (around - 4 * inner)
    return plate


def main():
    plate = np.zeros((64, 96))
    plate[0] = 100.0  # the upper edge stays hot
    here, there = cuda.to_device(plate), cuda.to_device(plate)
    with gridjit.graph() as two_steps:
        diffuse[(3, 8), (32, 8), two_steps.stream](here, there)
        diffuse[(3, 8), (32, 8), two_steps.stream](there, here)
    for _ in range(50):
        two_steps.launch()
    two_steps.stream.synchronize()
    np.testing.assert_allclose(here.copy_to_host(), expected(plate, 100))
    two_steps.close()
    print("100 steps of heat are right")


if __name__ == "__main__":
    main()
