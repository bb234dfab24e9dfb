"""Device functions keep their parameters and result: calls in kernels are checked."""

from typing import Any

from typing_extensions import assert_type

import gridjit
from gridjit import cuda


@gridjit.jit(device=True)
def clamp(value: float, low: float = 0.0, high: float = 1.0) -> float:
    return min(max(value, low), high)


@cuda.jit("float32(float32, int32)", device=True, inline="always")
def power(value: float, exponent: int) -> float:
    return value * exponent


def halve(value: float) -> float:
    return value * 0.5


half_of = gridjit.jit(halve, device=True)


@gridjit.jit
def kernel(x: Any) -> None:
    assert_type(clamp(x[0], high=2.0), float)
    x[0] = clamp(power(x[0], 2)) + half_of(x[1])
    x[1] = clamp("0")  # wrong: a number
    x[2] = power(1.0)  # wrong: two arguments
    x[3] = half_of(1.0, 2.0)  # wrong: one argument
    x[4] = clamp(1.0, hihg=2.0)  # wrong: no such parameter


def either(device: bool) -> None:
    made: gridjit.Kernel | gridjit.DeviceFunction[[float], float] = gridjit.jit(halve, device=device)
    print(made.py_func)
    print(made.stats)  # wrong: of kernels only


def apply(function: gridjit.DeviceFunction[[float], float]) -> float:
    return function.py_func(4.0)


apply(half_of)
apply(power)  # wrong: another's parameters
clamp[1, 32](1.0)  # wrong: not a kernel
clamp.explain()  # wrong: not a kernel
gridjit.jit(halve, device=True, max_registers=32)  # wrong: an option of kernels
gridjit.jit(device=True, specialize="blockdim")(halve)  # wrong: an option of kernels
