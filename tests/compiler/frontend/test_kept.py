"""What the front end made of a callee is used again, and the kernel is the same as one that was compiled whole."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import LaunchConfig, cuda
from gridjit.compiler.values.target import Target
from tests.compiler.frontend.making import HOPPER, HOST, everything_of, kernel_of, made, nothing_kept

settings = types.ModuleType("settings_of_test_kept")
settings.STEP = 3  # type: ignore[attr-defined]
FACTOR = 2.5
PAIR = (1, 4)
TABLE = np.array([1.0, 4.0, 9.0])
KIND = np.dtype(np.float32)
SIZE = np.int32(6)


@gridjit.jit(device=True)
def scaled(value, by=4):
    return value * FACTOR + by


@gridjit.jit(device=True)
def nested(value):
    return scaled(value) + scaled(value, 7) + settings.STEP + PAIR[1]


@gridjit.jit(device=True)
def looked_up(index):
    return TABLE[index] + cuda.const.array_like(TABLE)[0]


@gridjit.jit(device=True)
def of_numba(value):
    return min(value, 3.0) + round(value, 2) + math.hypot(value, 2.0) + value**3 + max(1, 2, 3) + abs(value)


@gridjit.jit(device=True)
def of_block(value):
    return value * gridjit.static.blockDim.x


@gridjit.jit(device=True)
def raising(value):
    if value > 3:
        raise ValueError("too large")
    return value


@gridjit.jit(device=True)
def several(x, index):
    small = cuda.local.array(4, KIND)
    shared = cuda.shared.array(6, np.float64)
    shared[0] = x[index]
    for i in range(4):
        small[i] = x[i] * SIZE
    cuda.syncthreads()
    return small[1], shared[index % 3], index > 2


@gridjit.jit(device=True)
def synchronized(value):
    cuda.cg.this_grid().sync()
    return value


@gridjit.jit(device=True)
def closing(value):
    def inner(other):
        return other + FACTOR

    return inner(value)


def make_offset(offset: int) -> Any:
    @gridjit.jit(device=True)
    def shifted(value):
        return value + offset

    return shifted


shifted = make_offset(11)


BODIES = {
    "scaled": "scaled(x[i]) + scaled(1) + scaled(x[i], by=2)",
    "nested": "nested(x[i]) + scaled(x[i])",
    "looked_up": "looked_up(i)",
    "of_numba": "of_numba(x[i]) + round(x[i], 2) + x[i] ** 3 + min(x[i], 3.0)",
    "of_block": "of_block(x[i])",
    "raising": "raising(x[i])",
    "several": "several(x, i)[0]",
    "closing": "closing(x[i])",
    "synchronized": "synchronized(x[i])",
    "shifted": "shifted(x[i])",
}


@pytest.mark.each_value_once
@pytest.mark.parametrize("target", [HOST, HOPPER], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_with_reused_callees_is_the_same_as_one_compiled_whole(name: str, target: Target) -> None:
    config = LaunchConfig.of(4, 64)
    made(kernel_of(f"1.0 + {BODIES[name]}", **globals()), config=config, target=target)
    for known in (False, True):
        kernel = kernel_of(BODIES[name], **globals())
        reused = made(kernel, config=config, target=target, known=known)
        assert name in reused.reused
        with nothing_kept():
            whole = made(kernel, config=config, target=target, known=known)
        assert not whole.reused
        assert everything_of(reused) == everything_of(whole)
