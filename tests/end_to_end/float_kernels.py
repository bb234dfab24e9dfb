"""Kernels of floats whose rounding an optimizer could change that knows how many blocks and threads there are."""

from __future__ import annotations

import math

from gridjit import cuda


@cuda.jit(device=True)
def product(a, b):
    """Return a product that its callers add to something."""
    return a * b


def repeated_sum(x, y, out):
    """Add a product that does not change in the loop, once if there is one block."""
    i = cuda.grid(1)
    total, added = y[i], x[i] * y[i]
    for _ in range(cuda.gridDim.x):
        total = total + added
    out[i] = total


def dot(x, y, out):
    """Multiply and add as often as there are threads."""
    i = cuda.grid(1)
    total = x[i]
    for j in range(cuda.blockDim.x):
        total = total + x[j] * y[(i + j) % x.size]
    out[i] = total


def horner(x, y, out):
    """Evaluate a polynomial of as many terms as there are blocks."""
    i = cuda.grid(1)
    total = y[i]
    for j in range(cuda.gridDim.x):
        total = total * x[i] - y[j] * x[j]
        if j % 2:
            total = y[i] - product(total, x[i])
    out[i] = total


def scaled_product(x, y, out):
    """Multiply twice, the second time by a number of the launch, and add."""
    i = cuda.grid(1)
    scaled = product(x[i], y[i]) * cuda.gridDim.x
    out[i] = scaled + y[i]


def chosen(x, y, out):
    """Take one of two ways, by the launch."""
    i = cuda.grid(1)
    factor = x[i] if cuda.blockDim.x > 64 else 1.0
    twice = y[i] * factor
    out[i] = twice + x[i] if cuda.gridDim.x == 1 else twice - x[i] * y[i]


def powers(x, y, out):
    """Raise to powers that the launch says."""
    i = cuda.grid(1)
    out[i] = math.pow(x[i], float(cuda.gridDim.x + 1)) + x[i] ** cuda.blockDim.x


def functions(x, y, out):
    """Call functions that vectors are faster at."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.exp(x[i]) * math.sin(y[i]) + math.log(x[i] + 1) - math.tanh(y[i])


def functions_of_the_launch(x, y, out):
    """Call functions of numbers that the launch says."""
    i = cuda.grid(1)
    ratio = x.dtype.type(cuda.blockDim.x) / x.dtype.type(37)
    out[i] = math.sin(ratio) + math.exp(ratio) * math.atan2(ratio, x[i]) - math.expm1(ratio) + math.log(ratio)


def extremes(x, y, out):
    """Choose among numbers and zeros with a sign."""
    i = cuda.grid(1)
    zero = 0.0 * (cuda.gridDim.x - 2)
    out[i] = math.copysign(1.0, min(max(x[i] - x[i], zero), y[i])) + max(x[i], y[i])


def divided(x, y, out):
    """Divide by numbers that the launch says."""
    i = cuda.grid(1)
    out[i] = x[i] / cuda.blockDim.x + y[i] / (cuda.gridDim.x + 2) + math.sqrt(x[i] * cuda.blockDim.x)


def mean_of_block(x, y, out):
    """Add up a block's numbers in shared memory, between barriers."""
    tile = cuda.shared.array(128, x.dtype)
    i, thread = cuda.grid(1), cuda.threadIdx.x
    tile[thread] = x[i] * y[i] + x[i]
    cuda.syncthreads()
    total = tile[0] * y[i]
    for j in range(cuda.blockDim.x):
        total = total - tile[j] * x[i]
    out[i] = total / cuda.blockDim.x


KERNELS = (
    *(repeated_sum, dot, horner, scaled_product, chosen, powers, functions, functions_of_the_launch),
    *(extremes, divided, mean_of_block),
)
