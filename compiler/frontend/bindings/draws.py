"""draws: numba.cuda.random's functions as kernels call them: float32 draws are below 1, and normal draws are finite.

numba-cuda rounds a draw of 53 bits to the 24 of a float32, which makes 1 of the largest; its normal draws take the
logarithm of such a number, which may be 0. All other draws have numba-cuda's bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.cuda import float32, float64, random, uint64
from numba.cuda.dispatcher import CUDADispatcher

_LEAST, _MOST = np.float32(2.0**-53), np.float32(1 - 2.0**-24)
_uniform = random.xoroshiro128p_uniform_float32


def uint64_to_unit_float32(x: Any) -> Any:
    """Return 53 bits of a word as a float32 of [0, 1)."""
    return min(float32(random.uint64_to_unit_float64(uint64(x))), _MOST)


def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """Return a draw of the normal distribution, by the Box-Muller transform."""
    radius = math.sqrt(-float32(2.0) * math.log(max(_uniform(states, index), _LEAST)))
    return radius * math.cos(random.TWO_PI_FLOAT32 * _uniform(states, index))


def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """Return a draw of the normal distribution, by the Box-Muller transform of two float32 draws."""
    radius = math.sqrt(-float64(2.0) * math.log(max(_uniform(states, index), _LEAST)))
    return radius * math.cos(random.TWO_PI_FLOAT64 * _uniform(states, index))


# numba-cuda's function -> the device function in its place.
IN_PLACE = {
    getattr(random, function.__name__).py_func: CUDADispatcher(function, {"device": True, "debug": False, "opt": True})
    for function in (uint64_to_unit_float32, xoroshiro128p_normal_float32, xoroshiro128p_normal_float64)
}
