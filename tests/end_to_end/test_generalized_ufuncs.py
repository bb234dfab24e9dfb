"""Generalized ufuncs choose signatures, broadcast, and place their results as NumPy's do."""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
import pytest

from gridjit import ArgumentError, ConfigError, DeviceArray, GridjitError, cuda

pytestmark = [pytest.mark.usefixtures("target"), pytest.mark.one_cache]

TWO = ["void(float32[:], float32[:])", "void(float64[:], float64[:])"]
SCALED = ["void(float32[:], float32, float32[:])", "void(float64[:], float64, float64[:])"]
of_numpy_2 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 chooses by the number's value, gridjit by its type"
)


def sums(x, out):
    out[0] = 0
    for value in x:
        out[0] += value


def scales(x, by, out):
    for i in range(x.size):
        out[i] = x[i] * by


def multiplies(a, b, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


@functools.cache
def numpys_scales() -> Any:
    """Return what numba makes of it for NumPy."""
    return numba.guvectorize(SCALED, "(n),()->(n)", nopython=True)(scales)


def outcome(call: Any) -> Any:
    """Return a call's result, or whether its types were refused."""
    try:
        return call()
    except TypeError:
        return None


@pytest.mark.parametrize("signatures", [TWO, TWO[:1], TWO[1:]], ids=["both", "float32", "float64"])
def test_the_first_signature_is_chosen_that_loses_no_precision_as_numpy_chooses(signatures: list[str]) -> None:
    ours = cuda.guvectorize(signatures, "(n)->()")(sums)
    numpys = numba.guvectorize(signatures, "(n)->()", nopython=True)(sums)
    for dtype in ("bool", "int8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64"):
        x = np.ones((2, 3), dtype)
        found, expected = outcome(lambda x=x: ours(x)), outcome(lambda x=x: numpys(x))
        on_device = outcome(lambda x=x: ours(cuda.to_device(x)))
        assert (found is None) == (expected is None) == (on_device is None), dtype
        if expected is not None:
            assert found.dtype == expected.dtype == on_device.dtype, dtype
            assert found.tolist() == expected.tolist() == on_device.copy_to_host().tolist()


@pytest.mark.some(3)
@pytest.mark.parametrize("number", [2, 2.0, np.float32(2), np.float64(2), pytest.param(np.int64(2), marks=of_numpy_2)])
def test_a_number_of_pythons_takes_the_type_of_the_arrays(number: Any) -> None:
    ours = cuda.guvectorize(SCALED, "(n),()->(n)")(scales)
    numpys = numpys_scales()
    x = np.ones(3, np.float32)
    found, expected = ours(x, number), numpys(x, number)
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


def test_types_that_no_signature_takes_are_refused_with_those_that_there_are() -> None:
    total = cuda.guvectorize(TWO[:1], "(n)->()")(sums)
    said = r"sums\(float64\): no signature takes these without losing precision; there are \(float32\)\. Convert, as in"
    with pytest.raises(ArgumentError, match=said):
        total(np.ones(3))


@pytest.mark.each_value_once
@pytest.mark.parametrize("place", [np.asarray, cuda.to_device], ids=["host", "device"])
@pytest.mark.parametrize("positional", [False, True])
def test_a_result_goes_to_an_array_that_is_wider_or_as_numpy_allows_narrower(place: Any, positional: bool) -> None:
    total = cuda.guvectorize(TWO, "(n)->()")(sums)
    for given, wanted in ((np.float32, np.float64), (np.float64, np.float32), (np.float32, np.complex128)):
        x, out = place(np.full((2, 3), 0.5, given)), place(np.zeros(2, wanted))
        found = total(x, out) if positional else total(x, out=out)
        assert found is out and out.dtype == wanted
        assert np.asarray(out.copy_to_host() if isinstance(out, DeviceArray) else out).tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (np.zeros(2, int), "the result is float32, which an array of int64 cannot hold"),
        (np.zeros(3, np.float32), r"the result has the shape \(2,\), and out \(3,\)"),
        ([0, 0], "a list is not an array"),
    ],
    ids=["kind", "shape", "list"],
)
def test_an_out_that_cannot_hold_the_result_is_refused(out: Any, said: str) -> None:
    total = cuda.guvectorize(TWO, "(n)->()")(sums)
    with pytest.raises(GridjitError, match=rf"sums\(out=\.\.\.\): {said}"):
        total(np.ones((2, 3), np.float32), out=out)


@pytest.mark.each_value_once
@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3, 2)),
        ((5, 2, 3), (3, 2)),
        ((2, 3), (5, 3, 2)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((1, 2, 3), (4, 3, 2)),
        ((0, 2, 3), (3, 2)),
        ((5, 2, 0), (0, 2)),
    ],
)
@pytest.mark.parametrize("place", [np.asarray, cuda.to_device], ids=["host", "device"])
def test_axes_that_are_left_over_are_broadcast_as_numpy_does(shapes: Any, place: Any) -> None:
    product = cuda.guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")(multiplies)
    a, b = (np.arange(np.prod(shape), dtype=float).reshape(shape) for shape in shapes)
    found = product(place(a), place(b))
    found = found.copy_to_host() if isinstance(found, DeviceArray) else found
    assert found.shape == (a @ b).shape
    assert found.tolist() == (a @ b).tolist()


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((2, 3), (2, 3)), r"axis n has 3 items in an argument before, and 2 in argument 2, whose shape is \(2, 3\)"),
        (((3,), (3, 2)), r"argument 1 has 1 axis; its signature, \(m,n\), needs 2"),
        (((4, 2, 3), (5, 3, 2)), r"arrays of shapes \(4, 2, 3\), \(5, 3, 2\) cannot be broadcast to one shape"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_with_the_axis(shapes: Any, said: str) -> None:
    product = cuda.guvectorize(["void(float64[:,:], float64[:,:], float64[:,:])"], "(m,n),(n,p)->(m,p)")(multiplies)
    with pytest.raises(ArgumentError, match=f"multiplies: {said}"):
        product(*map(np.ones, shapes))


def test_a_result_may_overwrite_an_input_on_the_device() -> None:
    scaled = cuda.guvectorize(SCALED, "(n),()->(n)")(scales)
    x = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert scaled(x, 2.0, out=x) is x
    assert x.copy_to_host().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_a_wrong_number_of_arguments_is_told() -> None:
    total = cuda.guvectorize(TWO, "(n)->()")(sums)
    said = (
        r"sums: this gufunc accepts 1 positional argument \(its inputs\), or 2 positional arguments .* Got 0 positional"
    )
    with pytest.raises(ArgumentError, match=said):
        total()
    with pytest.raises(ConfigError, match="cannot specify argument 'out' as both positional and keyword"):
        total(np.ones(3), np.zeros(1), out=np.zeros(1))


def test_a_single_number_whose_value_fits_goes_to_a_narrow_signature_and_one_that_does_not_is_refused() -> None:
    scaled = cuda.guvectorize(["void(int32[:], int32, int32[:])"], "(n),()->(n)")(scales)
    x = np.arange(3, dtype=np.int32)
    accepted: tuple[Any, ...] = (2, np.int64(2), np.array(2))
    for number in accepted:
        assert scaled(x, number).tolist() == [0, 2, 4]
    refused: tuple[Any, ...] = (np.int64(1 << 40), cuda.to_device(np.array(2)))
    for number in refused:
        with pytest.raises(ArgumentError, match="no signature takes these without losing precision"):
            scaled(x, number)


def test_a_result_may_lack_an_axis_of_one_item() -> None:
    scaled = cuda.guvectorize(SCALED, "(n),()->(n)")(scales)
    out = np.zeros(3)
    assert scaled(np.arange(3.0), np.array([2.0]), out=out) is out
    assert out.tolist() == [0, 2, 4]
