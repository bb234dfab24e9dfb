"""Small kernels: one statement for each item, of floats and of integers."""

from __future__ import annotations

from typing import Any

from compile_times.vocabulary import cuda


@cuda.jit
def saxpy(a: float, x: Any, y: Any) -> None:
    """Add a multiple of x to y, in floats."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def mix(x: Any, y: Any) -> None:
    """Scramble the bits of integers."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i] ^ (x[i] >> 3)) * 31 + i
