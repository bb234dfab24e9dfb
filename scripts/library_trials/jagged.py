"""Kernels over awkward's arrays: types, data models and attributes of an extension, packed by an argument handler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gridjit import cuda
from library_trials.trial import Trial


def trials() -> Iterator[Callable[[], Trial]]:
    """Yield what makes each trial."""
    import awkward as ak

    ak.numba.register_and_check()
    numbers = ak.Array([1.5, 2.5, 3.5])
    lists = ak.Array([[1.0, 2.0], [], [3.0]])
    records = ak.Array([{"x": 1.0, "y": [1, 2]}, {"x": 2.0, "y": []}])
    yield lambda: _trial("item of a flat array", numbers, _flat)
    yield lambda: _trial("length", numbers, _length)
    yield lambda: _trial("item of a list", lists, _nested)
    yield lambda: _trial("loop over lists", lists, _sum_of_lists)
    yield lambda: _trial("slice", numbers, _sliced)
    yield lambda: _trial("field of a record by attribute", records, _by_attribute)
    yield lambda: _trial("field of a record by key", records, _by_key)
    yield lambda: _trial("list inside a record", records, _inside)
    yield lambda: _trial("array of integers", ak.Array([1, 2, 3]), _flat)
    yield lambda: _trial("array of booleans", ak.Array([True, False]), _flat)
    yield lambda: _trial("three levels", ak.Array([[[1.0]], [[2.0, 3.0]]]), _three_levels)
    yield lambda: _trial("option type", ak.Array([1.0, None, 3.0]), _optional)


def _trial(name: str, array: Any, kernel: Callable[..., None]) -> Trial:
    import numba

    return Trial(name=name, kernel=kernel, signature=(array.numba_type, numba.float64[::1]), block=32)


def _flat(array, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < len(array):
        out[i] = array[i]


def _length(array, out):  # type: ignore[no-untyped-def]
    out[0] = len(array)


def _nested(array, out):  # type: ignore[no-untyped-def]
    out[0] = array[0][1]


def _sum_of_lists(array, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < len(array):
        total = 0.0
        for value in array[i]:
            total += value
        out[i] = total


def _sliced(array, out):  # type: ignore[no-untyped-def]
    out[0] = len(array[1:])


def _by_attribute(array, out):  # type: ignore[no-untyped-def]
    out[0] = array[0].x


def _by_key(array, out):  # type: ignore[no-untyped-def]
    out[0] = array[0]["x"]


def _inside(array, out):  # type: ignore[no-untyped-def]
    out[0] = len(array[0].y)


def _three_levels(array, out):  # type: ignore[no-untyped-def]
    out[0] = array[1][0][1]


def _optional(array, out):  # type: ignore[no-untyped-def]
    value = array[1]
    out[0] = -1.0 if value is None else value
