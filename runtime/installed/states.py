"""states: numba.cuda.random with its generators' states in gridjit's arrays, on either target; seeds are checked."""

from __future__ import annotations

import functools
import importlib
import math
import numbers
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError, shown

_MOST = 1 << 64


@functools.cache
def random_of(cuda: ModuleType) -> ModuleType:
    """Return a copy of numba.cuda.random in which `cuda` makes the states' arrays; numba's own stays as it is."""
    module = importlib.import_module("numba.cuda.random")
    ours = ModuleType(module.__name__, module.__doc__)
    own = module.create_xoroshiro128p_states
    vars(ours).update(vars(module), cuda=cuda)
    made = FunctionType(own.__code__, vars(ours), own.__name__, own.__defaults__)
    vars(ours)[own.__name__] = functools.update_wrapper(made, own)
    return ours


def check_seeds(module: Any) -> None:
    """Have numba.cuda.random refuse seeds that are not numbers of 64 bits; its own error speaks of the compiler."""
    original = module.init_xoroshiro128p_states

    @functools.wraps(original)
    def init_xoroshiro128p_states(states: Any, seed: Any, subsequence_start: Any = 0, stream: Any = 0) -> None:
        way = "; of a text, zlib.crc32(text.encode()) is one" if isinstance(seed, str | bytes) else ""
        original(states, _number("seed", seed, way), _number("subsequence_start", subsequence_start, ""), stream)

    if not hasattr(original, "__wrapped__"):
        module.init_xoroshiro128p_states = init_xoroshiro128p_states


def _number(name: str, value: Any, way: str) -> np.uint64:
    """Return a whole number of 64 bits; a number with a fraction, such as a time, is cut at the point."""
    is_number = isinstance(value, numbers.Real) and math.isfinite(value)
    if not is_number or not -_MOST // 2 <= value < _MOST:
        raise ArgumentError(f"{name}={shown(value)}: give a whole number below 2**64{way}")
    return np.uint64(int(value) % _MOST)
