"""What a layout says of itself, how it is made, and what it refuses, naming it."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridjit
from gridjit import CopyNeededError, GridjitError, LayoutError, StridedLayout, cuda
from gridjit.runtime.memory.layout_facts import LayoutFacts
from gridjit.runtime.memory.layout_views import LayoutViews
from tests.programs import run_new_python
from tests.runtime.memory.strided import Array, views

LAYOUT = StridedLayout.dense((5, 4, 3), 8)
BIG = 2**62


def offsets(layout: StridedLayout) -> list[int]:
    """Return where each item begins, in bytes."""
    return [
        layout.slice_offset_in_bytes + sum(i * step for i, step in zip(index, layout.strides_in_bytes, strict=True))
        for index in itertools.product(*map(range, layout.shape))
    ]


@given(views(packed=False), st.integers(-3, 3))
def test_a_layout_says_what_numpy_says_and_where_its_items_are(array: Array, items: int) -> None:
    plain = StridedLayout.of(array)
    layout = replace(plain, slice_offset_in_bytes=items * array.itemsize)
    assert (layout.ndim, layout.volume, layout.size) == (array.ndim, array.size, array.size)
    assert layout.strides == tuple(step // array.itemsize for step in array.strides)
    assert (layout.is_contiguous_c, layout.is_contiguous_f) == (array.flags.c_contiguous, array.flags.f_contiguous)
    assert layout.is_contiguous_any == array.transpose(layout.stride_order).flags.c_contiguous
    assert layout.is_dense == (layout.is_contiguous_any and not items)
    places = [place // array.itemsize for place in offsets(layout)]
    assert layout.offset_bounds == (layout.min_offset, layout.max_offset)
    assert layout.offset_bounds == ((min(places), max(places)) if places else (0, -1))
    assert layout.slice_offset == items
    if layout.min_offset >= 0:
        assert layout.required_size_in_bytes() == (layout.max_offset + 1) * array.itemsize
    else:
        with pytest.raises(LayoutError, match=r"before offset 0: size the memory by extent"):
            layout.required_size_in_bytes()


@given(views())
def test_the_order_of_strides_is_that_in_which_they_fall(array: Array) -> None:
    layout = StridedLayout.of(array)
    steps = [abs(array.strides[axis]) for axis in layout.stride_order]
    assert steps == sorted(steps, reverse=True)
    assert sorted(layout.stride_order) == list(range(array.ndim))


@given(views())
def test_a_unique_layout_has_no_item_on_anothers_memory(array: Array) -> None:
    layout = StridedLayout.of(array)
    taken = [byte for place in offsets(layout) for byte in range(place, place + layout.itemsize)]
    assert layout.is_unique == (len(set(taken)) == len(taken))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=3), st.integers(1, 4))
def test_what_is_called_unique_is_so_for_any_strides(axes: list[tuple[int, int]], itemsize: int) -> None:
    layout = StridedLayout([n for n, _ in axes], itemsize=itemsize, strides_in_bytes=[step for _, step in axes])
    taken = [byte for place in offsets(layout) for byte in range(place, place + itemsize)]
    assert not layout.is_unique or len(set(taken)) == len(taken)


@given(views(), st.sampled_from([0, 8, -16]))
def test_a_layout_is_what_its_repr_says_and_what_its_copies_and_pickles_are(array: Array, offset: int) -> None:
    layout = replace(StridedLayout.of(array), slice_offset_in_bytes=offset)
    again = eval(repr(layout), {"StridedLayout": StridedLayout})
    for one in (again, copy.copy(layout), copy.deepcopy(layout), pickle.loads(pickle.dumps(layout)), replace(layout)):
        assert (one, hash(one)) == (layout, hash(layout))


def test_a_layout_prints_as_it_is_written() -> None:
    assert repr(LAYOUT) == "StridedLayout(shape=(5, 4, 3), strides=(12, 3, 1), itemsize=8)"
    assert repr(LAYOUT[1:, 0]).endswith("shape=(4, 3), strides=(12, 1), itemsize=8, slice_offset_in_bytes=96)")
    assert "strides_in_bytes=(9,)" in repr(StridedLayout(3, itemsize=8, strides_in_bytes=9))


def test_equal_layouts_are_one_key_and_others_differ() -> None:
    assert StridedLayout((3, 2), None, 4) == StridedLayout([3, 2], [2, 1], 4) == StridedLayout.dense((3, 2), 4)
    assert (
        len({StridedLayout((3, 2), (2, 1), 4), StridedLayout(np.array([3, 2]), strides_in_bytes=(8, 4), itemsize=4)})
        == 1
    )
    others = [LAYOUT[1:], LAYOUT[::-1], LAYOUT.permuted((1, 0, 2)), LAYOUT.repacked(4), StridedLayout.dense((5, 4), 8)]
    assert LAYOUT not in others
    assert LAYOUT[:] == LAYOUT
    assert (LAYOUT.__eq__((5, 4, 3)), LAYOUT.__eq__("layout")) == (NotImplemented, NotImplemented)


@pytest.mark.parametrize("name", ["shape", "strides", "strides_in_bytes", "itemsize", "slice_offset", "volume", "new"])
def test_nothing_of_a_layout_can_be_changed(name: str) -> None:
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(LAYOUT, name, 1)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        delattr(LAYOUT, name)


def test_numbers_may_be_numpys_and_a_shape_of_one_axis_a_number() -> None:
    layout = StridedLayout(np.int32(5), np.int64(2), np.uint8(4))
    assert layout == StridedLayout((5,), (2,), 4)
    assert {type(one) for one in (*layout.shape, *layout.strides_in_bytes, layout.itemsize)} == {int}
    assert LAYOUT.reshaped(60) == LAYOUT.flattened()


def test_a_layout_is_that_of_whatever_has_shape_strides_and_itemsize() -> None:
    items = np.zeros((3, 4), np.float32)[:, ::2]
    expected = StridedLayout((3, 2), (4, 2), 4)
    assert StridedLayout.of(items) == StridedLayout.of(memoryview(items)) == expected  # type: ignore[arg-type]
    assert StridedLayout.of(cuda.to_device(np.zeros((3, 4), np.float32))[:, ::2]) == expected


def test_what_has_no_strides_is_refused_by_name() -> None:
    with pytest.raises(LayoutError, match=r"a list does not describe its layout: .*shape"):
        StridedLayout.of([1, 2, 3])


def test_the_fields_of_packed_records_have_strides_in_bytes_only() -> None:
    layout = StridedLayout.of(np.zeros((4, 3), [("small", "i1"), ("wide", "f8")])["wide"])
    assert (layout.strides_in_bytes, layout.extent, layout.is_unique) == ((27, 9), (0, 107), True)
    assert layout[::-1].extent == (0, 107)
    for asked in (lambda: layout.strides, lambda: layout.offset_bounds):
        with pytest.raises(LayoutError, match="is not a whole number of 8-byte items; use strides_in_bytes"):
            asked()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StridedLayout((3, -1), itemsize=4), r"shape \(3, -1\): item counts are 0 or more"),
        (lambda: StridedLayout((3, 2.0), itemsize=4), r"shape \(3, 2.0\): neither a whole number nor a sequence"),  # type: ignore[arg-type]
        (lambda: StridedLayout("34", itemsize=4), "shape '34': neither a whole number nor a sequence of them"),  # type: ignore[arg-type]
        (lambda: StridedLayout((3,), (1,), 0), "itemsize 0: an item has 1 byte or more"),
        (lambda: StridedLayout.dense((3,), -4), "itemsize -4: an item has 1 byte or more"),
        (lambda: StridedLayout((3,)), "itemsize None: not a whole number"),  # type: ignore[call-overload]
        (lambda: StridedLayout((3,), (1, 2), 4), r"strides \(1, 2\) do not fit shape \(3,\)"),
        (lambda: StridedLayout((3,), (1,), itemsize=4, strides_in_bytes=(4,)), "strides_in_bytes: give one of them"),
        (lambda: StridedLayout((1,) * 65, itemsize=4), "65 axes: a layout has 64 at most"),
        (lambda: StridedLayout.dense((3, 2), 4, "K"), "order='K': 'C' or 'F', or the axes"),
        (lambda: StridedLayout.dense((3, 2), 4, (0, 0)), r"order \(0, 0\): each axis may appear once"),
        (lambda: StridedLayout.dense((3, 2), 4, (0,)), r"order=\(0,\): give each of 2 axes once"),
        (lambda: LAYOUT.to_dense("A"), "order='A': 'C' or 'F', or the axes"),
        (lambda: LAYOUT.permuted((0, 1)), r"axes \(0, 1\): give each of 3 axes once"),
        (lambda: LAYOUT.permuted((0, 1, 1)), r"axes \(0, 1, 1\): each axis may appear once"),
        (lambda: LAYOUT.permuted((0, 1, "2")), "axis '2': not a whole number"),  # type: ignore[arg-type]
        (lambda: LAYOUT.reshaped((7, -1)), r"shape \(7, -1\) does not fit 60 items"),
        (lambda: LAYOUT.reshaped((59,)), r"shape \(59,\) does not fit 60 items"),
        (lambda: LAYOUT[:0].reshaped((0, -1)), r"shape \(0, -1\) does not fit 0 items"),
        (lambda: LAYOUT.reshaped((-1, -1)), r"shape \(-1, -1\): .* one may be -1"),
        (lambda: LAYOUT.reshaped((-2, 30)), r"shape \(-2, 30\): item counts are 0 or more"),
        (lambda: LAYOUT.reshaped((60,), "K"), "order='K': 'C' or 'F'"),
        (lambda: LAYOUT.squeezed(1), "axis 1 has 4 items: only axes of one item can be left out"),
        (lambda: LAYOUT.unsqueezed((0, 0)), r"axis \(0, 0\): each axis may appear once"),
        (lambda: LAYOUT.broadcast_to((5, 4, 4)), r"shape \(5, 4, 3\) cannot be broadcast to \(5, 4, 4\)"),
        (lambda: LAYOUT.broadcast_to((4, 3)), r"shape \(5, 4, 3\) cannot be broadcast to \(4, 3\)"),
        (lambda: LAYOUT.broadcast_to((-1, 5, 4, 3)), "item counts are 0 or more"),
        (lambda: LAYOUT.repacked(0), "itemsize 0: an item has 1 byte or more"),
        (lambda: LAYOUT.repacked(3), "axis 2 has 3 items of 8 bytes, which cannot be whole items of 3 bytes"),
        (lambda: LAYOUT.repacked(16), "axis 2 has 3 items of 8 bytes, which cannot be whole items of 16 bytes"),
        (lambda: LAYOUT.repacked(24, data_ptr=8), "items of 24 bytes would be misaligned: 8 is not a multiple of 24"),
        (lambda: LAYOUT.repacked(16, axis=1), "the items along axis 1 are 24 bytes apart, not 8: choose an axis"),
        (lambda: LAYOUT[:, :, 1:].repacked(16), "would be misaligned: 8 is not a multiple of 16; aligned=False views"),
        (lambda: LAYOUT.max_compatible_itemsize(4), "max_itemsize 4: items have 8 bytes already"),
        (lambda: LAYOUT[::0], r"slice\(None, None, 0\): slice step cannot be zero"),
        (lambda: LAYOUT["a":], r"slice\('a', None, None\): slice indices must be integers"),
    ],
)
def test_what_cannot_be_a_layout_is_refused_with_the_reason(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        make()
    assert isinstance(caught.value, GridjitError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LAYOUT[5], "index 5 is out of range for axis 0, which has 5 items"),
        (lambda: LAYOUT[..., -4], "index -4 is out of range for axis 2, which has 3 items"),
        (lambda: LAYOUT[0, 0, 0, 0], r"\(0, 0, 0, 0\) has 4 indices, but there are 3 axes"),
        (lambda: LAYOUT[..., 0, ...], "an index has one '...' at most"),
        (lambda: LAYOUT[True], "True is not an index: numbers, slices, ... and None take a part without a copy"),
        (lambda: LAYOUT[[0, 1]], r"\[0, 1\] is not an index"),  # type: ignore[index]
        (lambda: LAYOUT[np.array([0, 1])], r"array\(\[0, 1\]\) is not an index"),
        (lambda: LAYOUT[np.True_], "True_? is not an index"),  # type: ignore[index]
        (lambda: LAYOUT["abc"], "'abc' is not an index"),  # type: ignore[index]
        (lambda: LAYOUT[1.0], "1.0 is not an index"),  # type: ignore[index]
        (lambda: LAYOUT.permuted((0, 1, 3)), "axis 3 is out of range for 3 axes"),
        (lambda: LAYOUT.flattened(0, 3), "axis 3 is out of range for 3 axes"),
        (lambda: LAYOUT.unsqueezed(5), "axis 5 is out of range for 4 axes"),
        (lambda: LAYOUT.squeezed(-4), "axis -4 is out of range for 3 axes"),
        (lambda: LAYOUT.repacked(4, axis=3), "axis 3 is out of range for 3 axes"),
        (lambda: LAYOUT[0, 0, 0].repacked(4), "axis -1 is out of range for 0 axes"),
        (lambda: LAYOUT.max_compatible_itemsize(axis=3), "axis 3 is out of range for 3 axes"),
    ],
)
def test_an_index_or_axis_out_of_range_is_an_index_error(make: Callable[[], object], words: str) -> None:
    with pytest.raises(IndexError, match=words) as caught:
        make()
    assert isinstance(caught.value, LayoutError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StridedLayout((2**63,), (0,), 1),
        lambda: StridedLayout((BIG, 2), (0, 0), 1),
        lambda: StridedLayout((3,), (BIG,), 2),
        lambda: StridedLayout((3,), (BIG,), 1),
        lambda: StridedLayout((3,), (-BIG,), 1),
        lambda: StridedLayout((BIG,), (1,), 4),
        lambda: StridedLayout((1,), itemsize=1, strides_in_bytes=(-(2**63),)),
        lambda: StridedLayout((2,), (BIG,), itemsize=1, slice_offset_in_bytes=BIG),
        lambda: StridedLayout((), itemsize=2**63),
        lambda: StridedLayout.dense((2**32, 2**32), 1),
        lambda: StridedLayout((2**32,), (0,), 4).to_dense().broadcast_to((2**32, 2**32)),
        lambda: StridedLayout((2**31, 2**31), (0, 0), 4).to_dense(),
        lambda: StridedLayout((2**31, 2**31), (0, 1), 4).repacked(1),
    ],
)
def test_what_does_not_fit_in_64_bits_is_an_overflow_error(make: Callable[[], object]) -> None:
    with pytest.raises(OverflowError, match=r"shape .* with strides of .* bytes: \d+ is beyond 64 bits") as caught:
        make()
    assert isinstance(caught.value, LayoutError)


def test_what_just_fits_in_64_bits_is_a_layout() -> None:
    assert StridedLayout((2**63 - 1,), (1,), 1).required_size_in_bytes() == 2**63 - 1
    assert StridedLayout((2,), (2 - 2**63,), 1).extent == (2 - 2**63, 1)
    assert StridedLayout((0, BIG, BIG), itemsize=8).volume == 0


def test_a_layout_without_items_lies_nowhere() -> None:
    layout = StridedLayout((3, 0), (-5, 7), itemsize=4)
    assert (layout.extent, layout.offset_bounds, layout.required_size_in_bytes()) == ((0, 0), (0, -1), 0)
    assert layout.is_contiguous_c and layout.is_contiguous_f and layout.is_unique
    assert layout.repacked(2).shape == (3, 0)
    assert layout.flattened() == StridedLayout((0,), (0,), 4)
    assert StridedLayout.dense((3, 0), 4).strides == (0, 0)


def test_where_no_view_exists_the_error_says_to_copy() -> None:
    with pytest.raises(CopyNeededError, match=r"has no view of shape \(60,\): copy the items to to_dense\('F'\) first"):
        LAYOUT.reshaped(60, "F")
    assert LAYOUT.to_dense("F").reshaped(60, "F").is_dense


def test_operations_make_new_layouts_and_leave_their_own() -> None:
    before = repr(LAYOUT)
    for made in (LAYOUT[0], LAYOUT.permuted((2, 1, 0)), LAYOUT.flattened(), LAYOUT.unsqueezed(0), LAYOUT.repacked(4)):
        assert isinstance(made, gridjit.StridedLayout)
        assert made != LAYOUT
    assert repr(LAYOUT) == before


def test_layouts_need_neither_a_compiler_nor_a_driver(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nbefore = set(sys.modules)\nfrom gridjit import StridedLayout\n"
        "layout = StridedLayout.dense((4, 6), 4)\nlayout[::2, 1].unsqueezed(0).broadcast_to((3, 2)).to_dense()\n"
        "layout.reshaped((8, 3)).flattened().repacked(8).permuted((0,)).squeezed()\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new & {'numba', 'numba_cuda', 'llvmlite', 'cuda', 'diskcache'}))\n"
    )
    done = run_new_python(program)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_what_docstrings_say_of_layouts_holds() -> None:
    said = [
        line.strip()
        for member in (
            StridedLayout,
            *vars(StridedLayout).values(),
            *vars(LayoutViews).values(),
            LayoutFacts.required_size_in_bytes,
        )
        for line in (inspect.getdoc(getattr(member, "__func__", member)) or "").splitlines()
        if " == " in line and line.strip().startswith(("StridedLayout", "layout["))
    ]
    assert len(said) >= 10
    layout = StridedLayout((5, 4), (4, 1), itemsize=8)
    assert [line for line in said if not eval(line, {"StridedLayout": StridedLayout, "layout": layout})] == []
