"""The layouts that are made of a layout: NumPy's own shapes, strides and offsets, and errors where it has no view."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridjit import CopyNeededError, LayoutError, StridedLayout
from gridjit.runtime.memory.copies import address_of
from tests.runtime.memory.strided import Array, indices, shapes_of, views


def same_strides(layout: StridedLayout, array: Array) -> bool:
    """Return whether a layout has an array's strides, but along axes that take no step."""
    both = zip(array.shape, layout.strides_in_bytes, array.strides, strict=True)
    return array.size == 0 or all(mine == theirs for count, mine, theirs in both if count > 1)


def is_of(layout: StridedLayout, view: Array, base: Array) -> bool:
    """Return whether a layout, made of base's, says where view's items are in base's memory."""
    starts = layout.slice_offset_in_bytes == (address_of(view) - address_of(base) if view.size else 0)
    same = (layout.shape, layout.itemsize) == (view.shape, view.itemsize)
    return same and same_strides(layout, view) and (starts or not view.size)


def offsets(layout: StridedLayout) -> list[int]:
    """Return where each item of a layout begins, in C order."""
    return [
        layout.slice_offset_in_bytes + sum(i * step for i, step in zip(index, layout.strides_in_bytes, strict=True))
        for index in itertools.product(*map(range, layout.shape))
    ]


@given(st.data(), views())
def test_a_sliced_layout_is_that_of_numpys_slice(data: st.DataObject, array: Array) -> None:
    index = data.draw(indices(array.shape))
    taken, base = StridedLayout.of(array)[index], np.asarray(array)
    view = base[(*index, ...)] if isinstance(index, tuple) and ... not in index else base[index]
    if not isinstance(view, np.ndarray):  # all axes are gone: NumPy gives the item
        view = base[(*index, ...)] if isinstance(index, tuple) else base[index, ...]
    assert is_of(taken, view, base)
    assert taken.strides_in_bytes == view.strides  # those of axes of one item too


@given(st.data(), views())
def test_slices_of_slices_are_where_numpy_has_them(data: st.DataObject, array: Array) -> None:
    layout, view = StridedLayout.of(array), array
    for _ in range(3):
        index = data.draw(indices(view.shape))
        layout, view = layout[index], view[(*index, ...) if isinstance(index, tuple) and ... not in index else index]
        view = np.asarray(view)
        assume(view.base is not None or not view.ndim)
        if not view.ndim:
            break
        assert is_of(layout, view, array)
    assert StridedLayout.of(array).sliced(()) == StridedLayout.of(array)


@given(st.data(), views())
def test_a_permuted_layout_is_that_of_numpys_transpose(data: st.DataObject, array: Array) -> None:
    axes = data.draw(st.permutations(range(array.ndim)))
    signed = [axis - array.ndim if data.draw(st.booleans()) else axis for axis in axes]
    assert StridedLayout.of(array).permuted(signed) == StridedLayout.of(array.transpose(axes))


@given(st.data(), views(), st.sampled_from("CF"))
def test_a_reshaped_layout_is_that_of_numpys_view_and_none_where_numpy_copies(
    data: st.DataObject, array: Array, order: Any
) -> None:
    shape = data.draw(shapes_of(array.size))
    known = list(shape)
    if 0 not in shape and data.draw(st.booleans()):
        known[data.draw(st.integers(0, len(shape) - 1))] = -1
    reshaped = array.reshape(shape, order=order)
    if array.size and not np.may_share_memory(reshaped, array):
        with pytest.raises(CopyNeededError, match=r"has no view of shape .*: copy the items to to_dense"):
            StridedLayout.of(array).reshaped(known, order)
        return
    made = StridedLayout.of(array).reshaped(known, order)
    assert is_of(made, reshaped, array)
    assert made.shape == shape


@given(views())
def test_a_reshaped_layout_goes_through_the_items_in_the_same_order(array: Array) -> None:
    layout = StridedLayout.of(array)
    assert offsets(layout.flattened()) == offsets(layout)
    assert offsets(layout.unsqueezed((0, -1))) == offsets(layout)


@given(views())
def test_no_axes_of_a_flattened_layout_can_be_joined(array: Array) -> None:
    flat = StridedLayout.of(array).flattened()
    assert flat.flattened_axis_mask() == 0
    for axis in range(1, flat.ndim):
        with pytest.raises(CopyNeededError):
            flat.reshaped((*flat.shape[: axis - 1], -1, *flat.shape[axis + 1 :]))


@given(st.data(), views())
def test_layouts_flattened_by_their_common_mask_keep_one_shape(data: st.DataObject, array: Array) -> None:
    other = data.draw(views(shapes=st.just(array.shape), packed=False).filter(lambda view: view.ndim == array.ndim))
    assume(other.shape == array.shape)
    layouts = [StridedLayout.of(array), StridedLayout.of(other)]
    mask = layouts[0].flattened_axis_mask() & layouts[1].flattened_axis_mask()
    flat = [layout.flattened(mask=mask) for layout in layouts]
    assert flat[0].shape == flat[1].shape
    assert [offsets(one) for one in flat] == [offsets(one) for one in layouts]
    assert flat[0].ndim == max(1, array.ndim - mask.bit_count())


@given(st.data(), views())
def test_only_the_axes_asked_for_are_joined(data: st.DataObject, array: Array) -> None:
    assume(array.ndim)
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, array.ndim - 1)] * 2)))
    layout = StridedLayout.of(array)
    flat = layout.flattened(first - array.ndim, last)
    assert offsets(flat) == offsets(layout)
    assert (flat.shape[:first], flat.shape[flat.ndim - (array.ndim - 1 - last) :]) == (
        array.shape[:first],
        array.shape[last + 1 :],
    )


@given(st.data(), views())
def test_a_squeezed_layout_is_that_of_numpys(data: st.DataObject, array: Array) -> None:
    ones = [axis for axis in range(array.ndim) if array.shape[axis] == 1]
    some = data.draw(st.lists(st.sampled_from(ones), unique=True)) if ones else []
    layout = StridedLayout.of(array)
    assert layout.squeezed(some) == StridedLayout.of(array.squeeze(tuple(some)))
    assert layout.squeezed() == StridedLayout.of(array.squeeze()) or not array.size
    assert array.size or layout.squeezed() == StridedLayout((0,), (0,), itemsize=array.itemsize)


@given(st.data(), views())
def test_an_unsqueezed_layout_is_that_of_numpys_new_axes(data: st.DataObject, array: Array) -> None:
    count = data.draw(st.integers(0, 3))
    axes = data.draw(st.permutations(range(array.ndim + count)))[:count]
    signed = tuple(axis - array.ndim - count if data.draw(st.booleans()) else axis for axis in axes)
    made = StridedLayout.of(array).unsqueezed(signed)
    assert is_of(made, np.expand_dims(array, signed), array)
    assert not array.size or made.squeezed() == StridedLayout.of(array).squeezed()


@given(st.data(), views())
def test_a_broadcast_layout_is_that_of_numpys(data: st.DataObject, array: Array) -> None:
    shape = tuple(data.draw(st.integers(0, 3)) if count == 1 else count for count in array.shape)
    shape = (*data.draw(st.lists(st.integers(0, 3), max_size=2)), *shape)
    made, expected = StridedLayout.of(array).broadcast_to(shape), np.broadcast_to(array, shape)
    assert is_of(made, expected, array)
    assert made.strides_in_bytes == expected.strides or expected.size == 0


@given(st.data(), views())
def test_a_layout_is_broadcast_where_numpy_does_it_and_refused_where_not(data: st.DataObject, array: Array) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=5)))
    try:
        np.broadcast_to(array, shape)
    except ValueError:
        with pytest.raises(LayoutError, match="cannot be broadcast to"):
            StridedLayout.of(array).broadcast_to(shape)
    else:
        assert StridedLayout.of(array).broadcast_to(shape).shape == shape


def viewed(array: Array, itemsize: int) -> Array | None:
    """Return NumPy's view of an array as items of another size; None if it has none."""
    try:
        return array.view(f"V{itemsize}")
    except (ValueError, TypeError):
        return None


@given(views(), st.integers(1, 24))
def test_a_repacked_layout_is_that_of_numpys_view_as_another_type(array: Array, itemsize: int) -> None:
    # One item along the last axis has no stride to speak of: NumPy asks it to be that of items without gaps.
    assume(not array.ndim or array.shape[-1] != 1)
    layout, expected = StridedLayout.of(array), viewed(array, itemsize)
    if expected is None:
        with pytest.raises((LayoutError, CopyNeededError)):
            layout.repacked(itemsize, aligned=False)
    else:
        made = layout.repacked(itemsize, aligned=False)
        assert is_of(made, expected, array)
        assert made.volume * made.itemsize == layout.volume * layout.itemsize


@given(st.data(), views(), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_repacking_along_an_axis_is_repacking_along_the_last_one_turned_there(
    data: st.DataObject, array: Array, itemsize: int
) -> None:
    assume(array.ndim)
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    layout = StridedLayout.of(array)
    try:
        made = layout.repacked(itemsize, axis=axis)
    except (LayoutError, CopyNeededError) as error:
        with pytest.raises(type(error)):
            StridedLayout.of(np.moveaxis(array, axis, -1)).repacked(itemsize)
        return
    last = StridedLayout.of(np.moveaxis(array, axis, -1)).repacked(itemsize)
    order = [*range(array.ndim)]
    order.append(order.pop(axis))
    assert made.permuted(order) == last


@given(st.data(), views(), st.sampled_from([1, 2, 4, 8, 16]))
def test_what_was_packed_unpacks_to_what_it_was(data: st.DataObject, array: Array, times: int) -> None:
    assume(array.size and array.ndim)
    axis = data.draw(st.integers(0, array.ndim - 1))
    layout = StridedLayout.of(array)
    try:
        packed = layout.repacked(array.itemsize * times, axis=axis)
    except (LayoutError, CopyNeededError):
        return
    back = packed.repacked(array.itemsize, axis=axis)
    assert (back.shape, offsets(back)) == (layout.shape, offsets(layout))


@given(st.data(), views(), st.integers(1, 64), st.integers(0, 64))
def test_the_largest_item_size_is_the_largest_that_repacks(
    data: st.DataObject, array: Array, limit: int, address: int
) -> None:
    assume(array.ndim and limit >= array.itemsize)
    axis, layout = data.draw(st.integers(0, array.ndim - 1)), StridedLayout.of(array)

    def repacks(itemsize: int) -> bool:
        try:
            return layout.repacked(itemsize, address, axis).itemsize == itemsize
        except (LayoutError, CopyNeededError):
            return False

    sizes = [size for size in range(array.itemsize, limit + 1, array.itemsize) if limit % size == 0]
    found = layout.max_compatible_itemsize(limit, address, axis)
    assert found == max(filter(repacks, sizes), default=array.itemsize)


@given(st.data(), views())
def test_a_copy_lies_where_numpys_copy_does(data: st.DataObject, array: Array) -> None:
    layout = StridedLayout.of(array)
    for order in ("C", "F"):
        copy: Any = array.copy(order)
        made = layout.to_dense(order)
        assert made == StridedLayout.dense_like(array, order)
        assert is_of(made, copy, copy)
    axes = tuple(data.draw(st.permutations(range(array.ndim))))
    made = layout.to_dense(axes)
    assert made.permuted(axes) == StridedLayout.dense([array.shape[axis] for axis in axes], array.itemsize)
    assert (made.is_dense, made.required_size_in_bytes()) == (True, array.nbytes)
    assert made == StridedLayout.dense(array.shape, array.itemsize, axes)


def test_a_slice_of_a_step_that_is_never_taken_fits_whatever_the_step_is() -> None:
    layout = StridedLayout((5,), (3,), itemsize=8)
    taken = layout[:: 2**62]
    assert (taken.shape, taken.offset_bounds) == ((1,), (0, 0))
    assert layout[4 :: -(2**62)].offset_bounds == (12, 12)


def test_a_part_of_the_longest_axis_there_is_is_counted() -> None:
    longest = StridedLayout(2**63 - 1, 0, itemsize=1)
    assert [longest[part].shape for part in (slice(None, None, 2), slice(None, None, -1))] == [(2**62,), (2**63 - 1,)]


def test_a_layout_has_64_axes_and_all_that_is_made_of_it() -> None:
    layout = StridedLayout.dense((1, 2) * 32, 4)
    assert layout.ndim == 64
    assert layout[(slice(None, None, -1),) * 64].flattened().shape == (2**32,)
    assert layout.permuted(range(63, -1, -1)).is_contiguous_f
    assert layout.squeezed().unsqueezed(range(0, 64, 2)) == layout
    assert layout.broadcast_to((3, 2) + (1, 2) * 31).is_unique is False
    assert layout.reshaped((2**16, -1)).shape == (2**16, 2**16)
