"""Arrays that host and device share: mapped and managed ones are used in place, page-locked ones are copied fast."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.kernels import increments

pytestmark = pytest.mark.usefixtures("target")
MAKERS: dict[str, Callable[..., Any]] = {
    "mapped": cuda.mapped_array,
    "managed": cuda.managed_array,
    "managed, attached to the host": partial(cuda.managed_array, attach_global=False),
}


@pytest.fixture(params=list(MAKERS.values()), ids=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """What makes an array that is used in place."""
    maker: Callable[..., Any] = request.param
    return maker


def launch(x: Any) -> None:
    """Increment each item; fails where an array is copied to get it to the device."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gridjit.jit(increments)[1, 128](x)
    cuda.synchronize()


def test_a_kernel_works_on_it_in_place_and_the_host_on_what_it_left(make: Callable[..., Any]) -> None:
    x = make(100, dtype=np.float64)
    x[:] = np.arange(100)
    for times in (1, 2, 3):
        launch(x)
        assert x.tolist() == (np.arange(100) + times).tolist()
    x *= 2
    launch(x)
    assert x.tolist() == (2 * (np.arange(100) + 3) + 1).tolist()


@pytest.mark.some(1)
def test_views_are_used_in_place_too(make: Callable[..., Any]) -> None:
    x = make((4, 25), dtype=np.int32)
    x[:] = 0
    launch(x[2])
    launch(x[:, 3])
    launch(x.reshape(100)[::-1])
    expected = np.ones((4, 25), np.int32)
    expected[2] += 1
    expected[:, 3] += 1
    assert np.array_equal(x, expected)


def test_what_is_computed_of_it_is_an_array_like_any_other(make: Callable[..., Any]) -> None:
    x = make(10, dtype=np.int64)
    x[:] = 5
    other = x + 1
    gridjit.jit(increments)[1, 128](other)
    cuda.synchronize()
    assert (x.tolist(), other.tolist()) == ([5] * 10, [7] * 10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_it_has_the_shape_order_and_type_that_were_asked_for(make: Callable[..., Any], order: str) -> None:
    x = make((3, 4), dtype=np.int16, order=order)
    assert isinstance(x, np.ndarray)
    assert (x.shape, x.dtype, x.flags.c_contiguous) == ((3, 4), np.int16, order == "C")
    assert make(0).shape == (0,)


def test_copies_from_and_to_page_locked_memory_come_in_their_streams_order() -> None:
    values, out = cuda.pinned_array(1000), cuda.pinned_array(1000)
    values[:] = np.arange(1000)
    stream = cuda.stream()
    x = cuda.to_device(values, stream=stream)
    gridjit.jit(increments)[8, 128, stream](x)
    x.copy_to_host(out, stream=stream)
    stream.synchronize()
    assert out.tolist() == (np.arange(1000) + 1).tolist()
