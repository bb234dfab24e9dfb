"""StridedLayout and ForeignArray: they say of an array what NumPy says of it, whatever its strides are."""

from __future__ import annotations

import gc
import itertools
import weakref
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.host_arrays import array_parameters, array_type
from gridjit.runtime.arrays.create import device_array, device_array_like, to_device
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.foreign_array import ForeignArray
from gridjit.runtime.memory.layout import StridedLayout
from tests.runtime.memory.strided import DTYPES, SHAPES, views


@given(shape=SHAPES, dtype=DTYPES, order=st.sampled_from("CF"))
def test_a_dense_layout_is_that_of_a_new_array(shape: tuple[int, ...], dtype: np.dtype[Any], order: Any) -> None:
    layout = StridedLayout.dense(shape, dtype.itemsize, order)
    array = np.empty(shape, dtype, order=order)
    assert array.size == 0 or layout == StridedLayout.of(array)  # without items, strides are anything
    assert (layout.ndim, layout.size, layout.extent) == (array.ndim, array.size, (0, array.nbytes))


@given(views())
def test_a_layout_like_another_is_dense_and_keeps_the_order_of_its_axes(view: np.ndarray[Any, Any]) -> None:
    layout = StridedLayout.dense_like(view)
    assert (layout.shape, layout.extent, layout.is_dense) == (view.shape, (0, view.nbytes), True)
    assert not view.size or layout.strides_in_bytes == np.empty_like(view).strides


@given(views())
def test_a_layout_like_one_of_no_items_keeps_its_strides(view: np.ndarray[Any, Any]) -> None:
    assume(view.size == 0)
    assert StridedLayout.dense_like(view).strides_in_bytes == view.strides


@given(views())
def test_a_layout_is_contiguous_as_numpy_means_it(view: np.ndarray[Any, Any]) -> None:
    flags = view.flags
    expected = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    assert StridedLayout.of(view).letter == expected


@given(views())
def test_the_extent_holds_every_item_and_nothing_beyond(view: np.ndarray[Any, Any]) -> None:
    layout = StridedLayout.of(view)
    offsets = [
        sum(index * stride for index, stride in zip(indices, view.strides, strict=True))
        for indices in itertools.product(*map(range, view.shape))
    ]
    assert layout.extent == ((min(offsets), max(offsets) + view.itemsize) if offsets else (0, 0))


@given(views())
def test_items_are_aligned_with_the_first_where_numpy_says_so(view: np.ndarray[Any, Any]) -> None:
    aligned = StridedLayout.of(view).over(1 << 20, view.dtype).flags.aligned
    assert StridedLayout.of(view).has_steps_of(view.dtype.alignment) == aligned


@given(views())
def test_an_array_over_memory_is_the_array_that_lies_there(view: np.ndarray[Any, Any]) -> None:
    view = np.broadcast_to(view, view.shape)
    again = StridedLayout.of(view).over(address_of(view), view.dtype)
    assert (again.shape, again.strides, again.dtype) == (view.shape, view.strides, view.dtype)
    assert np.array_equal(again, view)
    assert not view.size or address_of(again) == address_of(view)


def test_what_is_written_to_an_array_over_memory_is_there() -> None:
    base = np.arange(12).reshape(3, 4)
    view = base[::-1, 1::2]
    StridedLayout.of(view).over(address_of(view), view.dtype)[0, 1] = 77
    assert base[2, 3] == 77


@pytest.mark.parametrize("shape", [(3, 4), (0, 4)])
def test_an_array_over_memory_keeps_its_owner_for_as_long_as_its_views(shape: tuple[int, ...]) -> None:
    class Owner:
        pass

    base, owner = np.zeros((3, 4)), Owner()
    watch = weakref.ref(owner)
    view = StridedLayout.dense(shape, 8).over(address_of(base), base.dtype, owner=owner)[1:]
    del owner
    gc.collect()
    assert (watch() is not None) == (0 not in shape)
    del view
    gc.collect()
    assert watch() is None


@given(views())
def test_launch_parameters_are_those_of_the_array(view: np.ndarray[Any, Any]) -> None:
    assert StridedLayout.of(view).parameters(address_of(view)) == array_parameters(view)


@given(views(), st.booleans())
def test_memory_that_someone_else_owns_has_the_type_of_the_array_there(view: np.ndarray[Any, Any], given: bool) -> None:
    strides = None if view.flags.c_contiguous and not given else view.strides
    writable = view.flags.writeable
    address = address_of(view)
    found = ForeignArray(address=address, shape=view.shape, strides=strides, dtype=view.dtype, writable=writable)
    assume(view.dtype.kind != "S")
    assert found.type == array_type(view)
    assert not view.size or (found.layout.size, found.parameters[4]) == (view.size, address)


def test_arrays_of_records_without_fields_lie_as_numpy_lays_them() -> None:
    empty = np.zeros((2, 3), np.dtype([]))
    for made in (device_array((2, 3), empty.dtype), device_array_like(empty), to_device(empty)):
        assert (made.shape, made.strides, made.nbytes) == (empty.shape, empty.strides, 0)


def test_strides_for_another_number_of_axes_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"strides \(4,\) do not fit shape \(2, 3\)"):
        StridedLayout(shape=(2, 3), strides=(4,), itemsize=4)


def test_an_order_that_is_neither_c_nor_f_is_refused() -> None:
    with pytest.raises(ArgumentError, match="order='K': 'C' or 'F'"):
        StridedLayout.dense((2, 3), 4, "K")


def test_a_layout_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        StridedLayout.dense((2,), 4).shape = (3,)  # type: ignore[misc]
