"""What launches and barriers cost by themselves: kernels with almost no work."""
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import numba
import numpy as np

import gridjit
from gridjit import cuda
from host_times.rows import Pair, Row

_TURNS, _THREADS = 1000, 256


@gridjit.jit
def nothing():
    """A launch without work."""


@gridjit.jit
def one_array(x):
    """A launch with an array and without work."""


@numba.njit
def njit_nothing():
    """The peer of nothing."""


@numba.njit(parallel=True)
def prange_32(x):
    """The peer of one_array."""
    for i in numba.prange(32):
        x[i] = 0


@gridjit.jit
def barriers(x, turns):
    """A barrier in a loop, and just enough else to keep it there."""
    tile = cuda.shared.array(256, np.float32)
    thread = cuda.threadIdx.x
    tile[thread] = x[thread]
    for _ in range(turns):
        cuda.syncthreads()
        value = tile[thread ^ 1]
        cuda.syncthreads()
        tile[thread] = value
    x[thread] = tile[thread]


def _nothing() -> Pair:
    return Pair(ours=nothing[1, 1], peer=njit_nothing, check=lambda: None)


def _one_array() -> Pair:
    x = np.ones(32, np.float32)
    configured = one_array[1, 32]
    return Pair(
        ours=lambda: configured(x),
        peer=lambda: prange_32(x),
        check=lambda: np.testing.assert_array_equal(x, np.ones(32, np.float32)),
    )


def _barriers() -> Pair:
    x = np.arange(_THREADS, dtype=np.float32)
    configured = barriers[1, _THREADS]
    return Pair(
        ours=lambda: configured(x, _TURNS),
        peer=njit_nothing,
        check=lambda: np.testing.assert_array_equal(x, np.arange(_THREADS)),
    )


ROWS = (
    Row(name="an empty launch (5 us)", peer="an empty njit call", goal=5000.0, prepare=_nothing, per=1),
    Row(name="a launch with one array", peer="prange over 32", goal=1.0, prepare=_one_array),
    Row(name="a barrier in a loop, of one thread", peer="-", goal=3.0, prepare=_barriers, per=2 * _TURNS * _THREADS),
)
