"""oracle: what a kernel without barriers leaves in its arrays, run as plain Python, one thread after the other."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
from types import FunctionType, SimpleNamespace

import numpy as np


def run_in_python(kernel, grid, block, *arguments):
    """Run kernel, whose global name of numba.cuda is `cuda`, for every thread of a grid."""
    known = _Coordinates(_three(grid), _three(block))
    run = FunctionType(kernel.__code__, {**kernel.__globals__, "cuda": known})
    for _ in known.threads():
        run(*arguments)


def _three(shape):
    shape = shape if isinstance(shape, tuple) else (shape,)
    return (*shape, 1, 1)[:3]


class _Coordinates:
    """What numba.cuda tells a thread; one for all threads of a grid, since they run one after the other."""

    def __init__(self, grid, block):
        self.gridDim, self.blockDim, self.threadIdx, self.blockIdx = map(_xyz, (grid, block, (0, 0, 0), (0, 0, 0)))
        self.atomic = SimpleNamespace(add=_add)
        self.local = SimpleNamespace(array=np.empty)
        self._sizes = tuple(a * b for a, b in zip(grid, block, strict=True))

    def threads(self):
        """Be one thread after the other."""
        for place in _places(self.gridDim):
            self.blockIdx.z, self.blockIdx.y, self.blockIdx.x = place
            for place in _places(self.blockDim):
                self.threadIdx.z, self.threadIdx.y, self.threadIdx.x = place
                yield

    def grid(self, count):
        block, size, thread = self.blockIdx, self.blockDim, self.threadIdx
        places = [getattr(block, a) * getattr(size, a) + getattr(thread, a) for a in "xyz"[:count]]
        return places[0] if count == 1 else tuple(places)

    def gridsize(self, count):
        return self._sizes[0] if count == 1 else self._sizes[:count]


def _xyz(values):
    return SimpleNamespace(**dict(zip("xyz", values, strict=True)))


def _places(extent):
    return itertools.product(range(extent.z), range(extent.y), range(extent.x))


def _add(array, index, value):
    old = array[index]
    array[index] += value
    return old
