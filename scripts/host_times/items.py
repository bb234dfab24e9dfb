"""Kernels that compute items of arrays, one a thread or many: saxpy, the same in grid-stride loops, Black-Scholes."""
# mypy: disable-error-code="no-untyped-def, no-any-return"

from __future__ import annotations

import math
from functools import partial

import numba
import numpy as np

import gridjit
from gridjit import cuda
from host_times.rows import Pair, Row


@gridjit.jit
def saxpy(a, x, y):
    """y += a * x, one item a thread."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@gridjit.jit
def saxpy_strides(a, x, y):
    """y += a * x, a grid-stride loop."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += a * x[i]


@numba.njit(parallel=True)
def prange_saxpy(a, x, y):
    """The peer of both."""
    for i in numba.prange(x.size):
        y[i] += a * x[i]


def _normal(d):
    """The normal distribution's cumulative function, by Abramowitz and Stegun's formula 26.2.17."""
    k = 1 / (1 + 0.2316419 * abs(d))
    series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * math.exp(-0.5 * d * d) * series
    return 1 - tail if d > 0 else tail


_normal_device = gridjit.jit(device=True)(_normal)
_normal_njit = numba.njit(_normal)


@gridjit.jit
def black_scholes(price, strike, years, call, rate, volatility):
    """The price of European calls."""
    i = cuda.grid(1)
    if i < price.size:
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + volatility * volatility / 2) * years[i]) / (volatility * root)
        d2 = d1 - volatility * root
        now = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * _normal_device(d1) - now * _normal_device(d2)


@numba.njit(parallel=True)
def prange_black_scholes(price, strike, years, call, rate, volatility):
    """The peer of black_scholes."""
    for i in numba.prange(price.size):
        root = math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + volatility * volatility / 2) * years[i]) / (volatility * root)
        d2 = d1 - volatility * root
        now = strike[i] * math.exp(-rate * years[i])
        call[i] = price[i] * _normal_njit(d1) - now * _normal_njit(d2)


def _saxpy(size: int, blocks: int = 0) -> Pair:
    kernel = saxpy_strides if blocks else saxpy
    x, y = np.random.default_rng(0).random((2, size), dtype=np.float32)
    other, half = y.copy(), np.float32(0.5)
    expected = y + half * x
    configured = kernel[blocks or -(-size // 256), 256]
    return Pair(
        ours=lambda: configured(half, x, y),
        peer=lambda: prange_saxpy(half, x, other),
        check=lambda: np.testing.assert_allclose(y, expected, rtol=1e-5),
    )


def _options(dtype: type[np.floating]) -> Pair:
    size = 1_000_000
    price, strike, years = (
        np.random.default_rng(0).random((3, size)) * [[25], [99], [9.75]] + [[5], [1], [0.25]]
    ).astype(dtype)
    call, other = np.zeros((2, size), dtype)
    arguments, rest = (price, strike, years), (dtype(0.02), dtype(0.3))
    expected = np.zeros(size)
    prange_black_scholes(*(one.astype(np.float64) for one in arguments), expected, 0.02, 0.3)
    configured = black_scholes[-(-size // 256), 256]
    return Pair(
        ours=lambda: configured(*arguments, call, *rest),
        peer=lambda: prange_black_scholes(*arguments, other, *rest),
        check=lambda: np.testing.assert_allclose(call, expected, rtol=1e-3, atol=1e-4),
    )


_GOALS = {7: 1.2, 6: 1.3, 5: 1.5, 4: 2.0, 3: 2.0}
ROWS = (
    *(
        Row(name=f"saxpy 1e{digits}", peer="prange", goal=goal, prepare=partial(_saxpy, 10**digits))
        for digits, goal in _GOALS.items()
    ),
    *(
        Row(
            name=f"grid-stride saxpy 1e7, grid {blocks}",
            peer="prange",
            goal=1.5,
            prepare=partial(_saxpy, 10**7, blocks),
        )
        for blocks in (64, 1024, 8192)
    ),
    Row(name="Black-Scholes 1e6 float32", peer="prange", goal=0.3, prepare=lambda: _options(np.float32)),
    Row(name="Black-Scholes 1e6 float64", peer="prange", goal=0.5, prepare=lambda: _options(np.float64)),
)
