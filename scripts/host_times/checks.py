"""Kernels with debug=True, that is with all checks, against the same kernels without; each on one thread."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda
from host_times import dense, items, planes, sums
from host_times.rows import Pair, Row

# How many times as long as without checks a kernel may take with them.
_MOST = 20.0


def _pair(kernel: Any, shape: tuple[Any, Any], make: Callable[[], tuple[Any, ...]]) -> Pair:
    """Return the launches of a kernel with checks and without, and what compares their results."""
    debug = gridjit.jit(kernel.py_func, debug=True, opt=False)
    mine, others = make(), make()

    def check() -> None:
        again, plain = make(), make()
        debug[shape](*again)
        kernel[shape](*plain)
        for one, other in zip(again, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)

    return Pair(ours=lambda: debug[shape](*mine), peer=lambda: kernel[shape](*others), check=check)


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def _saxpy() -> Pair:
    size = 10_000_000
    return _pair(items.saxpy, (-(-size // 256), 256), lambda: (np.float32(0.5), *_random(2, size)))


def _strides() -> Pair:
    return _pair(items.saxpy_strides, (64, 256), lambda: (np.float32(0.5), *_random(2, 10_000_000)))


@gridjit.jit
def _flux(u, out):
    """Add second differences along three axes of grids of five numbers, as programs for fluids do."""
    i, j, k = cuda.grid(3)
    if 0 < i < u.shape[2] - 1 and 0 < j < u.shape[1] - 1 and 0 < k < u.shape[0] - 1:
        for m in range(5):
            out[k, j, i, m] = u[k, j, i + 1, m] - 2 * u[k, j, i, m] + u[k, j, i - 1, m]
        for m in range(5):
            out[k, j, i, m] += u[k, j + 1, i, m] - 2 * u[k, j, i, m] + u[k, j - 1, i, m]
        for m in range(5):
            out[k, j, i, m] += u[k + 1, j, i, m] - 2 * u[k, j, i, m] + u[k - 1, j, i, m]


def _fluxes() -> Pair:
    side = 64
    return _pair(
        _flux,
        ((2, 16, side), (32, 4, 1)),
        lambda: (np.random.default_rng(0).random((side, side, side, 5)), np.zeros((side, side, side, 5))),
    )


@gridjit.jit
def _relaxed(v, d):
    """Relax five numbers of each line in place, from its neighbours', as wavefronts do."""
    j, k = cuda.grid(2)
    if 0 < j < v.shape[1] and k < v.shape[0]:
        for i in range(1, v.shape[2]):
            for m in range(5):
                v[k, j, i, m] -= 0.1 * (d[k, j, i, m] * v[k, j, i - 1, m])


def _lines() -> Pair:
    side = 64
    return _pair(
        _relaxed,
        ((2, 16), (32, 4)),
        lambda: (np.random.default_rng(0).random((side, side, side, 5)), np.full((side, side, side, 5), 0.5)),
    )


def _options() -> Pair:
    size = 1_000_000

    def make() -> tuple[Any, ...]:
        price, strike, years = (_random(3, size) * [[25], [99], [9.75]] + [[5], [1], [0.25]]).astype(np.float32)
        return price, strike, years, np.zeros(size, np.float32), np.float32(0.02), np.float32(0.3)

    return _pair(items.black_scholes, (-(-size // 256), 256), make)


def _stencil() -> Pair:
    return _pair(
        planes.stencil, ((64, 256), (32, 8)), lambda: (_random(2048, 2048), np.zeros((2048, 2048), np.float32))
    )


def _sum() -> Pair:
    blocks = -(-1_000_000 // 256)
    return _pair(sums.block_sum, (blocks, 256), lambda: (_random(1_000_000), np.empty(blocks, np.float32)))


def _histogram() -> Pair:
    def make() -> tuple[Any, ...]:
        return np.random.default_rng(0).integers(0, 256, 1_000_000, dtype=np.uint8), np.zeros(256, np.int32)

    return _pair(sums.histogram, (-(-1_000_000 // 256), 256), make)


def _product() -> Pair:
    return _pair(dense.product, ((32, 32), (16, 16)), lambda: (*_random(2, 512, 512), np.zeros((512, 512), np.float32)))


_KERNELS: dict[str, Callable[[], Pair]] = {
    "saxpy 1e7": _saxpy,
    "grid-stride saxpy 1e7": _strides,
    "Black-Scholes 1e6 float32": _options,
    "5-point stencil 2048^2": _stencil,
    "block reduction 1e6": _sum,
    "shared histogram 1e6": _histogram,
    "matmul 512, 16x16 shared tiles": _product,
    "differences of 64^3 x 5": _fluxes,
    "lines of 64^3 x 5 in place": _lines,
}
ROWS = tuple(
    Row(name=f"checked {name}", peer="without debug", goal=_MOST, prepare=partial(make))
    for name, make in _KERNELS.items()
)
