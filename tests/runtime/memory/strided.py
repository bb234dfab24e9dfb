"""Strategies for arrays that lie in memory in every way that NumPy's do."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
# The fields of a packed record lie unaligned, and so far apart.
PACKED = np.dtype([("small", "i1"), ("wide", "f8")])
DTYPES = st.sampled_from([np.dtype(code) for code in ("i1", "u2", "f4", "f8", "c16", "S3")])


@st.composite
def views(draw: st.DrawFn, shapes: st.SearchStrategy[tuple[int, ...]] = SHAPES, packed: bool = True) -> Array:
    """Arrays with gaps, steps backwards, axes in any order, repeated items and unaligned ones; and dense ones."""
    shape = draw(shapes)
    if packed and draw(st.booleans()):
        array = np.zeros(shape, PACKED, order=draw(st.sampled_from("CF")))["wide"]
    else:
        array = np.zeros(shape, draw(DTYPES), order=draw(st.sampled_from("CF")))
    if draw(st.booleans()):
        starts, steps = st.integers(0, 2), st.sampled_from([1, 1, 2, -1, -2])
        array = array[tuple(slice(draw(starts), None, draw(steps)) for _ in shape) or ...]
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if draw(st.booleans()):
        array = np.broadcast_to(array, (draw(st.integers(0, 3)), *array.shape))
    return array


def numbered(array: Array) -> Array:
    """Return array with other bytes in each item, whatever it is a view of."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    content = bytes(1 + index % 251 for index in range(root.nbytes))
    ctypes.memmove(root.__array_interface__["data"][0], content, root.nbytes)
    return array


def indices(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """What takes a part of an array of a shape as a view: numbers, slices, None and one Ellipsis, for some axes."""
    ends, steps = st.none() | st.integers(-6, 6), st.sampled_from([None, 1, 2, 3, -1, -2, -7])
    slices = st.builds(slice, ends, ends, steps)
    places = [slices | st.integers(-count, count - 1) if count else slices for count in shape]

    @st.composite
    def drawn(draw: st.DrawFn) -> Any:
        front = draw(st.integers(0, len(shape)))
        back = draw(st.integers(front, len(shape)))
        given: list[Any] = [draw(place) for place in places[:front]]
        if draw(st.booleans()):
            given += [Ellipsis, *(draw(place) for place in places[back:])]
        for _ in range(draw(st.integers(0, 2))):
            given.insert(draw(st.integers(0, len(given))), None)
        return given[0] if len(given) == 1 and draw(st.booleans()) else tuple(given)

    return drawn()


def shapes_of(volume: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of so many items, with axes of one item among them."""

    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[int, ...]:
        left, counts = volume, list[int]()
        while left > 1 and draw(st.booleans()):
            counts.append(draw(st.sampled_from([one for one in range(1, left + 1) if left % one == 0])))
            left //= counts[-1]
        counts.append(left)
        counts += [1] * draw(st.integers(0, 2))
        return tuple(draw(st.permutations(counts)))

    return drawn()
