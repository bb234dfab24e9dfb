"""oracle: what a kernel without barriers leaves in its arrays, run as plain Python, one thread after the other."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
from types import FunctionType, SimpleNamespace


def run_in_python(kernel, grid, block, *arguments):
    """Run kernel, whose global name of numba.cuda is `cuda`, for every thread of a grid."""
    grid, block = _three(grid), _three(block)
    for place in itertools.product(*map(range, reversed((*block, *grid)))):
        bz, by, bx, tz, ty, tx = place
        known = _coordinates(grid, block, (bx, by, bz), (tx, ty, tz))
        FunctionType(kernel.__code__, {**kernel.__globals__, "cuda": known})(*arguments)


def _three(shape):
    shape = shape if isinstance(shape, tuple) else (shape,)
    return (*shape, 1, 1)[:3]


def _xyz(values):
    return SimpleNamespace(**dict(zip("xyz", values, strict=True)))


def _coordinates(grid, block, block_index, thread_index):
    places = [b * size + t for b, size, t in zip(block_index, block, thread_index, strict=True)]
    sizes = [a * b for a, b in zip(grid, block, strict=True)]
    return SimpleNamespace(
        threadIdx=_xyz(thread_index),
        blockIdx=_xyz(block_index),
        blockDim=_xyz(block),
        gridDim=_xyz(grid),
        grid=lambda count: places[0] if count == 1 else tuple(places[:count]),
        gridsize=lambda count: sizes[0] if count == 1 else tuple(sizes[:count]),
        atomic=SimpleNamespace(add=_add),
    )


def _add(array, index, value):
    old = array[index]
    array[index] += value
    return old
