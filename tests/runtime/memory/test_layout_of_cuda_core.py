"""StridedLayout beside cuda.core's own class, where that can be imported: the two say and make the same.

By behaviour, what cuda.core tests of its class, and what is tested of ours here or in test_layout_views.py and
test_layout_facts.py: dense layouts in C, F and any given order; transposing; slicing, with steps backwards, step 0, too
many indices, indices out of range and of another type; reshaping, with -1, with empty shapes and 64 axes, across gaps
and steps backwards, with each way to get it wrong; flattening all axes, a range of them, and two layouts by their
common mask; squeezing; unsqueezing at each place; packing and unpacking along an axis and the largest item size, with
each refusal; broadcasting up to 64 axes; copies in C, F, K and any given order; bounds, required size and uniqueness;
equality with layouts and with anything else; the offset of a slice in the repr.

Where the two differ on purpose: strides that are not given are those of C order here, not None; other item sizes are
viewed or refused as NumPy does it; strides of axes of one item are not looked at, so that more shapes and item sizes
have a view; Ellipsis and None are indices; layouts without items keep strides where NumPy's do, and can be repacked.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridjit import LayoutError, StridedLayout
from tests.runtime.memory.strided import shapes_of

try:
    from cuda.core._layout import _StridedLayout as Theirs
except ImportError as error:
    pytest.skip(f"cuda.core's layout class cannot be imported: {error}", allow_module_level=True)

# Items along axes and a stride for each; one or more items along all, as without items the two keep other strides.
COUNTS = st.lists(st.integers(1, 4), max_size=4)
STEPS = st.integers(-60, 60)


def facts(layout: Any) -> dict[str, Any]:
    """Return all that a layout says of itself."""
    names = ["ndim", "shape", "strides", "strides_in_bytes", "itemsize", "volume", "slice_offset", "is_unique"]
    names += ["slice_offset_in_bytes", "is_contiguous_c", "is_contiguous_f", "is_contiguous_any", "is_dense"]
    return {name: getattr(layout, name) for name in [*names, "offset_bounds", "min_offset", "max_offset"]}


def same(mine: StridedLayout, theirs: Any) -> bool:
    """Return whether two layouts say the same."""
    if mine.min_offset >= 0:
        assert mine.required_size_in_bytes() == theirs.required_size_in_bytes()
    assert facts(mine) == facts(theirs)
    return True


@st.composite
def pairs(draw: st.DrawFn, least: int = 1) -> tuple[StridedLayout, Any]:
    """A layout twice: dense in any order, permuted and sliced."""
    shape = tuple(draw(st.lists(st.integers(least, 5), max_size=4)))
    itemsize, order = draw(st.sampled_from([1, 2, 4, 8, 16])), tuple(draw(st.permutations(range(len(shape)))))
    mine, theirs = StridedLayout.dense(shape, itemsize, order), Theirs.dense(shape, itemsize, order)
    if draw(st.booleans()):
        turn = tuple(draw(st.permutations(range(len(shape)))))
        mine, theirs = mine.permuted(turn), theirs.permuted(turn)
    if draw(st.booleans()):
        steps = st.sampled_from([1, 1, -1, 2])
        cut = tuple(slice(draw(st.sampled_from([None, 1])) if n > 1 else None, None, draw(steps)) for n in mine.shape)
        cut = tuple(one if len(range(n)[one]) else slice(None) for n, one in zip(mine.shape, cut, strict=True))
        mine, theirs = mine[cut], theirs[cut]
    return mine, theirs


@given(st.data(), COUNTS, st.integers(1, 16))
def test_layouts_of_any_strides_say_the_same(data: st.DataObject, shape: list[int], itemsize: int) -> None:
    steps = [data.draw(STEPS) for _ in shape]
    mine, theirs = StridedLayout(shape, steps, itemsize), Theirs(tuple(shape), tuple(steps), itemsize)
    assert same(mine, theirs)
    in_bytes = Theirs(mine.shape, mine.strides_in_bytes, itemsize, divide_strides=True)
    assert same(StridedLayout(shape, itemsize=itemsize, strides_in_bytes=mine.strides_in_bytes), in_bytes)
    if len({abs(step) for step in steps}) == len(steps):  # ties are ordered by place here, by items there
        assert mine.stride_order == theirs.stride_order


@given(st.data(), pairs())
def test_dense_layouts_and_copies_are_the_same(data: st.DataObject, pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    assert same(mine, theirs)
    assume(1 not in mine.shape)  # where there is one item along an axis, its place in the order is anything
    for order in ("C", "F", "K", tuple(data.draw(st.permutations(range(mine.ndim))))):
        assert same(mine.to_dense(order), theirs.to_dense(order))
        assert same(StridedLayout.dense_like(mine, order), Theirs.dense_like(theirs, order))


@given(st.data(), pairs(least=0))
def test_slices_are_the_same_and_so_are_their_refusals(data: st.DataObject, pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    ends = st.none() | st.integers(-6, 6)
    one = st.builds(slice, ends, ends, st.sampled_from([None, 1, -1, 2, -3, 0])) | st.integers(-5, 5)
    index = tuple(data.draw(st.lists(one, max_size=mine.ndim + 1)))
    try:
        expected = theirs[index]
    except ValueError:
        with pytest.raises(LayoutError):
            mine[index]
        return
    assert mine[index].shape == expected.shape
    assert not expected.volume or same(mine[index], expected)


@given(st.data(), pairs())
def test_other_shapes_are_the_same(data: st.DataObject, pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    shape = data.draw(shapes_of(mine.volume))
    try:
        expected = theirs.reshaped(shape)
    except ValueError:
        if 1 not in mine.shape:
            with pytest.raises(ValueError, match="has no view of shape"):
                mine.reshaped(shape)
        return
    if 1 in shape:  # along axes of one item, strides are anything
        mine, expected = mine.reshaped(shape).squeezed(), expected.squeezed()
    else:
        mine = mine.reshaped(shape)
    assert same(mine, expected)


@given(st.data(), st.lists(st.integers(2, 4), max_size=4), pairs())
def test_axes_are_joined_alike(data: st.DataObject, shape: list[int], pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    assume(1 not in mine.shape)
    assert same(mine.flattened(), theirs.flattened())
    assert mine.flattened_axis_mask() == theirs.flattened_axis_mask()
    mask = data.draw(st.integers(0, 15)) & mine.flattened_axis_mask()
    assert same(mine.flattened(mask=mask), theirs.flattened(mask=mask))
    if mine.ndim:
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, mine.ndim - 1)] * 2)))
        assert same(mine.flattened(first, last), theirs.flattened(first, last))


@given(st.data(), pairs())
def test_axes_of_one_item_come_and_go_alike(data: st.DataObject, pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    assert same(mine.squeezed(), theirs.squeezed())
    count = data.draw(st.integers(0, 2))
    places = tuple(data.draw(st.permutations(range(mine.ndim + count)))[:count])
    assert mine.unsqueezed(places).shape == theirs.unsqueezed(places).shape
    assert same(mine.unsqueezed(places).squeezed(), theirs.unsqueezed(places).squeezed())


@given(st.data(), pairs())
def test_broadcasts_are_the_same(data: st.DataObject, pair: tuple[StridedLayout, Any]) -> None:
    mine, theirs = pair
    shape = tuple(data.draw(st.integers(2, 4)) if n == 1 else n for n in mine.shape)
    shape = (*data.draw(st.lists(st.integers(1, 4), max_size=2)), *shape)
    assert same(mine.broadcast_to(shape), theirs.broadcast_to(shape))


@given(st.data(), pairs(), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([0, 4, 16]), st.booleans())
def test_items_are_packed_and_unpacked_alike(
    data: st.DataObject, pair: tuple[StridedLayout, Any], itemsize: int, address: int, keep: bool
) -> None:
    mine, theirs = pair
    assume(mine.ndim and 1 not in mine.shape)
    axis = data.draw(st.integers(-mine.ndim, mine.ndim - 1))
    limit = data.draw(st.sampled_from([16, 32]))
    if mine.strides[axis] == 1 and address % mine.itemsize == 0:
        assert mine.max_compatible_itemsize(limit, address, axis) == theirs.max_compatible_itemsize(
            limit, address, axis
        )
    try:
        expected = theirs.repacked(itemsize, address, axis, keep)
    except ValueError:
        with pytest.raises(ValueError, match=r"misaligned|bytes apart|cannot be whole items"):
            mine.repacked(itemsize, address, axis, keep)
        return
    assert same(mine.repacked(itemsize, address, axis, keep), expected)


def test_64_axes_are_handled_alike() -> None:
    shape = [1] * 59 + [2, 3, 4, 5, 6]
    random.Random(42).shuffle(shape)
    mine, theirs = StridedLayout.dense(shape, 2), Theirs.dense(tuple(shape), 2)
    backwards = (slice(None, None, -1),) * 64
    for one, other in (
        (mine, theirs),
        (mine.permuted(range(63, -1, -1)), theirs.permuted(tuple(range(63, -1, -1)))),
        (mine.reshaped((60, 12)), theirs.reshaped((60, 12))),
        (mine.squeezed(), theirs.squeezed()),
        (mine[backwards].squeezed(), theirs[backwards].squeezed()),
        (mine.flattened(), theirs.flattened()),
    ):
        assert same(one, other)
