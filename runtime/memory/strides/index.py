"""index: the part of an array that x[...] takes: numbers, slices of any step, Ellipsis, None; items are not read."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from gridjit.compiler.errors import LayoutError, LayoutIndexError
from gridjit.runtime.memory.layout_facts import LARGEST
from gridjit.runtime.memory.strides.whole import Numbers, axes_of

One: TypeAlias = "SupportsIndex | slice | EllipsisType | None"
ArrayIndex: TypeAlias = "One | tuple[One, ...]"


def indexed(shape: Numbers, steps: Numbers, index: ArrayIndex) -> tuple[Numbers, Numbers, int]:
    """Return shape, strides in bytes, and the bytes from the first item to the first one taken."""
    counts: list[int] = []
    strides: list[int] = []
    offset, axis = 0, 0
    for one in _for_each_axis(index, len(shape)):
        if one is None:
            counts.append(1)
            strides.append(0)
            continue
        if isinstance(one, slice):
            first, count, step = _part(one, shape[axis], steps[axis])
            counts.append(count)
            strides.append(step)
        else:
            first = _place(one, axis, shape[axis])
        offset += first * steps[axis]
        axis += 1
    return tuple(counts), tuple(strides), offset


def _for_each_axis(index: ArrayIndex, ndim: int) -> Iterator[Any]:
    """Yield what is taken of each axis, and None for each new one."""
    given: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    taken = sum(one is not None and one is not Ellipsis for one in given)
    if taken > ndim:
        raise LayoutIndexError(f"{index!r} has {taken} indices, but there are {axes_of(ndim)}")
    if sum(one is Ellipsis for one in given) > 1:
        raise LayoutIndexError(f"{index!r}: an index has one '...' at most")
    rest = [slice(None)] * (ndim - taken)
    for one in given if any(one is Ellipsis for one in given) else (*given, ...):
        if one is Ellipsis:
            yield from rest
        else:
            yield one


def _part(part: slice, count: int, stride: int) -> tuple[int, int, int]:
    """Return the first index that a slice takes, how many it takes, and the stride between them."""
    try:
        start, stop, step = part.indices(count)
    except (TypeError, ValueError) as error:
        raise LayoutError(f"{part!r}: {error}") from None
    taken = len(range(start, stop, step))
    if not taken:
        return 0, 0, stride
    # Where one item is left, the step is not taken, and its stride need not fit.
    return start, taken, stride * step if abs(stride * step) <= LARGEST else stride


def _place(index: Any, axis: int, count: int) -> int:
    """Return an index as a number from 0 on."""
    try:
        place = None if isinstance(index, bool | np.bool_) else operator.index(index)  # NumPy takes those for masks
    except TypeError:
        place = None
    if place is None:
        raise LayoutIndexError(f"{index!r} is not an index: numbers, slices, ... and None take a part without a copy")
    if not -count <= place < count:
        raise LayoutIndexError(f"index {place} is out of range for axis {axis}, which has {count} items")
    return place % count
