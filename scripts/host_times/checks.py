"""Kernels with debug=True, that is with all checks, against the same kernels without; each on one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gridjit
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
    "Black-Scholes 1e6 float32": _options,
    "5-point stencil 2048^2": _stencil,
    "block reduction 1e6": _sum,
    "shared histogram 1e6": _histogram,
    "matmul 512, 16x16 shared tiles": _product,
}
ROWS = tuple(
    Row(name=f"checked {name}", peer="without debug", goal=_MOST, prepare=partial(make))
    for name, make in _KERNELS.items()
)
