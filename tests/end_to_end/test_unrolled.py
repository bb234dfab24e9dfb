"""Loops that literal_unroll writes out over tuples of device functions, on either target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.cuda import literal_unroll


@gridjit.jit(device=True)
def raised(v):
    return v + 1


@gridjit.jit("float64(float64)", device=True)
def doubled(v):
    return v * 2


@gridjit.jit("float64(float64)", device=True)
def lowered(v):
    return v - 7


@cuda.jit(device=True)
def added(v, w):
    return v + w


STEPS = (raised, doubled, raised)
DECLARED = (doubled, lowered)
PAIRS = ((raised, 2.0), (added, 3.0))


@gridjit.jit
def each(out):
    k = 0
    for step in literal_unroll(STEPS):
        out[k] = step(10)
        k += 1  # noqa: SIM113


@gridjit.jit
def each_declared(out):
    k = 0
    for step in literal_unroll(DECLARED):
        out[k] = step(10)
        k += 1  # noqa: SIM113


@gridjit.jit
def written_out(out):
    k = 0
    for step in literal_unroll((raised, doubled)):
        out[k] = step(10)
        k += 1  # noqa: SIM113


@gridjit.jit
def within_pairs(out):
    k = 0
    for pair in literal_unroll(PAIRS):
        out[k] = pair[1]
        k += 1  # noqa: SIM113


@gridjit.jit(device=True)
def chain(steps, v):
    for step in literal_unroll(steps):
        v = step(v)
    return v


@gridjit.jit
def chained(out):
    out[0] = chain(STEPS, 10)
    out[1] = chain(DECLARED, 10)


@pytest.mark.some(2)
@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (each, [11, 20, 11]),
        (each_declared, [20, 3, 0]),
        (written_out, [11, 20, 0]),
        (within_pairs, [2, 3, 0]),
        (chained, [23, 13, 0]),
    ],
)
def test_loop_calls_each_device_function_of_a_tuple(kernel: Any, expected: list[int]) -> None:
    for _ in range(2):  # compiled again, it is the same
        out = np.zeros(3)
        gridjit.jit(kernel.py_func)[1, 1](out)
        assert out.tolist() == expected
