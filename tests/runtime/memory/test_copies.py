"""Plans of pitched copies: few, and each item once."""

from __future__ import annotations

import numpy as np
import pytest

from gridjit.runtime.memory.copies import MAX_PITCH, Rows, overlaps_itself, plan, straightening

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


def test_unequal_gaps_are_one_pitched_copy_each():
    assert planned(BLOCK[:, :2, :3]) == [(0, 0, 12, 2, 16), (48, 24, 12, 2, 16)]


def test_an_empty_array_is_no_copy():
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
