"""A ufunc's result is right, and where `out` says, or its call is an error that says what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import gridjit
from gridjit import cuda

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def same(x: Any) -> Any:
    """Return what it is given."""
    return x


@pytest.fixture
def twice(target: str) -> Any:
    """A ufunc of one argument."""

    @cuda.vectorize(["float32(float32)"])
    def twice(x):
        return x + x

    return twice


@pytest.fixture
def add(target: str) -> Any:
    """A ufunc of two arguments, which reduces."""

    @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def add(x, y):
        return x + y

    return add


@pytest.mark.parametrize(
    "out",
    [
        pytest.param(lambda: np.zeros((3, 4), np.float32), id="on the host"),
        pytest.param(lambda: np.zeros((4, 3), np.float32).T, id="transposed on the host"),
        pytest.param(lambda: np.zeros((3, 4)), id="wider items on the host"),
        pytest.param(lambda: cuda.to_device(np.zeros((3, 4), np.float32)), id="on the device"),
        pytest.param(lambda: cuda.to_device(np.zeros((4, 3), np.float32)).T, id="transposed on the device"),
        pytest.param(lambda: cuda.to_device(np.zeros((3, 8), np.float32))[:, ::2], id="every other item"),
        pytest.param(lambda: cuda.to_device(np.zeros((3, 4))), id="wider items on the device"),
    ],
)
def test_a_ufunc_puts_its_result_into_out_whatever_the_layout(twice: Any, out: Callable[[], Any]) -> None:
    for x in (X, cuda.to_device(X)):
        given = out()
        twice(x, out=given)
        assert np.array_equal(given if isinstance(given, np.ndarray) else given.copy_to_host(), X + X)


def test_a_ufunc_reads_what_it_overwrites_first(twice: Any) -> None:
    x = cuda.to_device(X.ravel())
    assert (twice(x, out=x).copy_to_host() == 2 * X.ravel()).all()
    assert (twice(x, out=x[::-1]).copy_to_host() == 4 * X.ravel()).all()
    assert (x.copy_to_host()[::-1] == 4 * X.ravel()).all()


def test_a_generalized_ufunc_reads_what_it_overwrites_first(target: str) -> None:
    @cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def turned(x, out):
        for i in range(x.shape[0]):
            out[i] = x[x.shape[0] - 1 - i]

    x, unchecked = cuda.to_device(X), cast(Any, turned)
    turned(x, x)
    assert (x.copy_to_host() == X[:, ::-1]).all()
    with pytest.raises(gridjit.ArgumentError, match=r"turned\(axis=\.\.\.\): ufuncs of kernels take .* out and stream"):
        unchecked(X, axis=0)
    with pytest.raises(gridjit.ArgumentError, match="its mask would be lost"):
        turned(np.ma.masked_array(X, X > 3))


def test_reduce_leaves_an_array_on_the_device_as_it_is(add: Any) -> None:
    for count in (1, 2, 7, 12):
        x = cuda.to_device(X.ravel()[:count])
        assert add.reduce(x) == X.ravel()[:count].sum()
        assert (x.copy_to_host() == X.ravel()[:count]).all()


def test_a_ufunc_takes_arrays_without_axes(twice: Any) -> None:
    assert twice(np.array(3, np.float32)) == 6
    assert twice(cuda.to_device(np.array(3, np.float32))).copy_to_host() == 6
    out = np.zeros((), np.float32)
    twice(np.array(3, np.float32), out=out)
    assert out == 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda add: add(X), r"^add takes 2 arguments; 1 given$"),
        (
            lambda add: add(X, X, X),
            r"^add takes 2 arguments; 3 given; name the result's array, add\(\.\.\., out=array\)$",
        ),
        (lambda add: add(X, X.astype("i2")), r"^add\(float32, int16\): no signature has these types; there are "),
        (lambda add: add(1, 2), r"^add\(int64, int64\): several signatures fit; .* as numpy\.float32\(1\)$"),
        (lambda add: add(X, X[:, :3]), r"^add: arrays of shapes \(3, 4\), \(3, 3\) cannot be broadcast to one shape$"),
        (
            lambda add: add(X, X, where=X > 3),
            r"^add\(where=\.\.\.\): ufuncs of kernels take the keywords out and stream",
        ),
        (lambda add: add(X, np.ma.masked_array(X, X > 3)), "its mask would be lost"),
        (lambda add: add(X, X, out=cuda.to_device(X[:2])), r"the result has the shape \(3, 4\), and out \(2, 4\)$"),
        (lambda add: add(X, X, out=X.astype("i4")), "the result is float32, which an array of int32 cannot hold$"),
        (lambda add: add(X, X, out=[1]), r"^add\(out=\.\.\.\): a list is not an array$"),
        (lambda add: add.reduce(X), r"^add\.reduce: the array has 2 axes; pass one with 1, such as x\.ravel\(\)$"),
    ],
)
def test_a_call_that_a_ufunc_cannot_take_says_what_to_give(add: Any, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(gridjit.ArgumentError, match=message):
        call(add)


def test_a_ufunc_needs_signatures_and_two_arguments_to_reduce(twice: Any) -> None:
    with pytest.raises(gridjit.ArgumentError, match=r"^twice\.reduce: only ufuncs of two arguments reduce"):
        twice.reduce(X[0])
    with pytest.raises(
        gridjit.ConfigError, match=r"same does not have a signature; give the types that it takes: @vec"
    ):
        cuda.vectorize(same)
    with pytest.raises(gridjit.ArgumentError, match="same does not have a signature"):
        cuda.vectorize()(same)(X)
