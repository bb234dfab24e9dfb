"""Functions that a kernel defines: arguments are bound by Python's rules; functions that numba misreads are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

# mypy: ignore-errors


def by_position(out):
    def weighted(x, y=2.0, z=3.0):
        return x + 10 * y + 100 * z

    out[0] = weighted(1.0, 5.0)


def by_name(out):
    def weighted(x, y=2.0, z=3.0):
        return x + 10 * y + 100 * z

    out[0] = weighted(1.0, z=5.0)


def by_name_without_defaults(out):
    def weighted(x, y, z):
        return x + 10 * y + 100 * z

    out[0] = weighted(z=5.0, x=1.0, y=2.0)


def by_a_default_of_the_kernel(out):
    factor = out[1]
    weighted = lambda x, y=factor: x + 10 * y  # noqa: E731
    out[0] = weighted(1.0) + weighted(2.0, 3.0)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [(by_position, 351), (by_name, 521), (by_name_without_defaults, 521), (by_a_default_of_the_kernel, 103)],
)
def test_arguments_are_bound_as_in_python(kernel: Callable[..., Any], expected: float) -> None:
    out = np.array([0.0, 7.0])
    cuda.jit(kernel)[1, 1](out)
    assert out[0] == expected


def with_any_number(out):
    def second(x, *others):
        return x + others[1]

    out[0] = second(1.0, out)


def with_one_too_many(out):
    def total(x, y=2.0):
        return x + y

    out[0] = total(1.0, 2.0, 3.0)


def with_an_unknown_name(out):
    def total(x, y=2.0):
        return x + y

    out[0] = total(1.0, z=3.0)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (with_any_number, r"takes \*args, \*\*kws or arguments only by name"),
        (with_one_too_many, "too many positional arguments"),
        (with_an_unknown_name, "unexpected keyword argument 'z'"),
    ],
)
def test_a_call_that_python_refuses_or_numba_misreads_does_not_compile(kernel: Callable[..., Any], words: str) -> None:
    with pytest.raises(gridjit.CompileError, match=words):
        cuda.jit(kernel).compile("void(float64[::1])", target="host")
