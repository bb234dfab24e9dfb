"""Ten kernels that share one device function of 40 lines."""

from __future__ import annotations

import math
from typing import Any

from compile_times.vocabulary import cuda


@cuda.jit(device=True)
def limited_flux(left: float, middle: float, right: float, speed: float, kind: int) -> float:
    """Return the flux across a cell's face, with one of several limiters of its slope."""
    down = middle - left
    up = right - middle
    if kind == 0:
        slope = 0.0
    elif kind == 1:
        if down * up <= 0.0:
            slope = 0.0
        elif abs(down) < abs(up):
            slope = down
        else:
            slope = up
    elif kind == 2:
        first = min(2.0 * abs(down), abs(up))
        second = min(abs(down), 2.0 * abs(up))
        slope = max(first, second)
        if down * up <= 0.0:
            slope = 0.0
        elif up < 0.0:
            slope = -slope
    else:
        product = down * up
        slope = 0.0
        if product > 0.0:
            slope = 2.0 * product / (down + up)
    courant = speed * 0.5
    value = middle + 0.5 * slope * (1.0 - courant)
    if speed <= 0.0:
        value = middle - 0.5 * slope * (1.0 + courant)
    pressure = 0.4 * value * value
    sound = math.sqrt(1.4 * pressure / (abs(value) + 1e-12))
    fastest = abs(speed) + sound
    if fastest > 1.0:
        fastest = 1.0
    central = 0.5 * speed * (middle + right)
    upwind = speed * value
    blend = fastest * upwind + (1.0 - fastest) * central
    damping = 0.01 * (left - 2.0 * middle + right)
    return blend - damping


@cuda.jit
def kernel_0(x: Any, out: Any) -> None:
    """Kernel 0 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i - 1], x[i], x[i + 1], 0.3, 0)


@cuda.jit
def kernel_1(x: Any, out: Any) -> None:
    """Kernel 1 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i - 1], x[i], x[i + 1], 0.3, 1) - x[i]


@cuda.jit
def kernel_2(x: Any, out: Any) -> None:
    """Kernel 2 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = x[i] * limited_flux(x[i - 1], x[i], x[i + 1], -0.3, 2)


@cuda.jit
def kernel_3(x: Any, out: Any) -> None:
    """Kernel 3 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = x[i] + limited_flux(x[i + 1], x[i], x[i - 1], 0.7, 2)


@cuda.jit
def kernel_4(x: Any, out: Any) -> None:
    """Kernel 4 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i - 1], x[i], x[i + 1], 0.1, 3) * 0.5


@cuda.jit
def kernel_5(x: Any, out: Any) -> None:
    """Kernel 5 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i], x[i], x[i + 1], 0.2, 1) / 3.0


@cuda.jit
def kernel_6(x: Any, out: Any) -> None:
    """Kernel 6 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = 2.0 * limited_flux(x[i - 1], x[i], x[i], 0.4, 3) + 1.0


@cuda.jit
def kernel_7(x: Any, out: Any) -> None:
    """Kernel 7 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i - 1], x[i], x[i + 1], x[i], 2)


@cuda.jit
def kernel_8(x: Any, out: Any) -> None:
    """Kernel 8 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = -limited_flux(x[i + 1], x[i], x[i - 1], 0.9, 1)


@cuda.jit
def kernel_9(x: Any, out: Any) -> None:
    """Kernel 9 of ten."""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = limited_flux(x[i - 1], x[i + 1], x[i], 0.6, 0) ** 2


KERNELS = (kernel_0, kernel_1, kernel_2, kernel_3, kernel_4, kernel_5, kernel_6, kernel_7, kernel_8, kernel_9)
