"""Plans of pitched copies: few, and each item once."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.runtime.memory.copies import (
    MAX_PITCH,
    Rows,
    copies_between,
    overlaps_itself,
    plan,
    plan_between,
    straightening,
)
from tests.runtime.memory.strided import numbered, views

BLOCK = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


def planned(array):
    straight = straightening(array).of(array)
    rows = plan(straight, 0, outward=True)
    start = straight.__array_interface__["data"][0]
    return [(row.source - start, row.destination, row.width, row.height, row.source_pitch) for row in rows]


@pytest.mark.parametrize("array", [BLOCK, BLOCK.T, BLOCK[::-1], BLOCK[..., ::-1, ::-1], BLOCK[1], BLOCK[:, None]])
def test_what_has_no_gaps_is_one_run(array):
    assert planned(array) == [(0, 0, array.nbytes, 1, array.nbytes)]


def test_equal_gaps_are_one_pitched_copy():
    assert planned(BLOCK[:, :, 1:3]) == [(0, 0, 8, 6, 16)]
    assert planned(BLOCK[:, 1]) == [(0, 0, 16, 2, 48)]
    assert planned(BLOCK.ravel()[::3]) == [(0, 0, 4, 8, 12)]


def test_gaps_of_whole_rows_are_one_copy_of_planes():
    straight = BLOCK[:, :2, :3]
    [copy] = plan(straight, 0, outward=True)
    assert (copy.width, copy.height, copy.depth) == (12, 2, 2)
    assert (copy.source_pitch, copy.source_rows) == (16, 3)
    assert (copy.destination_pitch, copy.destination_rows) == (12, 2)


def test_gaps_of_other_sizes_are_one_pitched_copy_each():
    apart = np.lib.stride_tricks.as_strided(BLOCK, (2, 2, 3), (52, 16, 4))
    assert planned(apart) == [(0, 0, 12, 2, 16), (52, 24, 12, 2, 16)]


def test_an_empty_array_is_not_copied():
    assert planned(BLOCK[2:]) == []


def test_a_pitch_beyond_the_drivers_is_a_copy_for_each_row():
    far = np.lib.stride_tricks.as_strided(BLOCK, (3, 2), (MAX_PITCH + 1, 4))
    assert [row[:4] for row in planned(far)] == [(i * (MAX_PITCH + 1), i * 8, 8, 1) for i in range(3)]


def test_inward_is_outward_turned_round():
    [out] = plan(BLOCK[:, 1], 1000, outward=True)
    [back] = plan(BLOCK[:, 1], 1000, outward=False)
    assert back == Rows(
        source=out.destination,
        destination=out.source,
        width=out.width,
        height=out.height,
        source_pitch=out.destination_pitch,
        destination_pitch=out.source_pitch,
    )


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((3, 4), (16, 4), False),
        ((3, 4), (0, 4), True),
        ((3, 4), (8, 4), True),
        ((3, 4), (-16, -4), False),
        ((), (), False),
    ],
)
def test_items_that_share_memory_are_noticed(shape, strides, overlaps):
    assert overlaps_itself(np.lib.stride_tricks.as_strided(BLOCK, shape, strides)) == overlaps


@given(views(packed=False), st.randoms())
def test_copies_between_two_layouts_move_each_item_where_it_belongs(source, random):
    numbered(source)
    axes = random.sample(range(source.ndim), source.ndim)
    whole = np.zeros([2 * source.shape[axis] for axis in axes], source.dtype)
    steps: Any = (*(slice(None, None, random.choice([2, -2])) for _ in axes), ...)
    part = whole[steps]
    destination = part.transpose(np.argsort(axes))
    turn = straightening(destination)
    rows = plan_between(turn.of(destination), turn.of(source))
    assert not source.size or len(rows) == copies_between(turn.of(destination), turn.of(source))
    for row in rows:
        for plane, line in itertools.product(range(row.depth), range(row.height)):
            to = row.destination + (plane * row.destination_rows + line) * row.destination_pitch
            of = row.source + (plane * row.source_rows + line) * row.source_pitch
            ctypes.memmove(to, of, row.width)
    assert destination.tobytes() == source.tobytes()
    part[...] = np.zeros((), source.dtype)
    assert not whole.astype(bool).any()  # nothing beside it was written


def test_two_layouts_of_equal_runs_are_one_pitched_copy():
    other = np.zeros((2, 3, 8), np.int32)[:, :, :2]
    [row] = plan_between(other, BLOCK[:, :, 1:3])
    assert (row.width, row.height, row.source_pitch, row.destination_pitch) == (8, 6, 16, 32)
