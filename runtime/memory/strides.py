"""whole: the whole numbers of shapes, strides and axes, or a LayoutError that names the given value."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from gridjit.compiler.values.errors import CopyNeededError, LayoutError, LayoutIndexError
from gridjit.runtime.memory.layout_facts import LARGEST

Numbers = tuple[int, ...]


def whole(value: Any, name: str) -> int:
    """Return value, called name in the error, as an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise LayoutError(f"{name} {value!r}: not a whole number") from None


def all_whole(values: Any, name: str) -> Numbers:
    """Return values as a tuple of ints; a number becomes a tuple of one."""
    try:
        return (operator.index(values),)
    except TypeError:
        pass
    given = _in_order(values, name)
    try:
        return tuple(map(operator.index, given))
    except TypeError:
        raise LayoutError(f"{name} {values!r}: neither a whole number nor a sequence of them") from None


def _in_order(values: Any, name: str) -> tuple[Any, ...]:
    if isinstance(values, set | frozenset):
        raise LayoutError(f"{name} {values!r}: a set has no order; give a sequence")
    try:
        return tuple(values)
    except TypeError:
        raise LayoutError(f"{name} {values!r}: neither a whole number nor a sequence of them") from None


def axis_of(value: Any, ndim: int) -> int:
    """Return an axis as a number from 0 on; negative axes are counted from the end."""
    axis = whole(value, "axis")
    if not -ndim <= axis < ndim:
        raise LayoutIndexError(f"axis {axis} is out of range for {axes_of(ndim)}")
    return axis % ndim


def distinct_axes(values: Any, ndim: int, name: str) -> Numbers:
    """Return axes as numbers from 0 on, none of them twice."""
    axes = tuple(axis_of(value, ndim) for value in _in_order(values, name))
    if len(set(axes)) != len(axes):
        raise LayoutError(f"{name} {axes}: each axis may appear once")
    return axes


def axes_of(ndim: int) -> str:
    """Return the number of axes, in words."""
    return "1 axis" if ndim == 1 else f"{ndim} axes"


def repeated(shape: Numbers, steps: Numbers, wanted: Numbers) -> Numbers:
    """Return the strides of an array that is broadcast to a wanted shape."""
    new = len(wanted) - len(shape)
    fits = new >= 0 and all(mine in (1, theirs) for mine, theirs in zip(shape, wanted[new:], strict=True))
    if not fits:
        how = "each axis, counted from the last, has 1 item or as many as there"
        raise LayoutError(f"shape {shape} cannot be broadcast to {wanted}: {how}")
    kept = (0 if mine == 1 else step for mine, step in zip(shape, steps, strict=True))
    return (*[0] * new, *kept)


One: TypeAlias = "SupportsIndex | slice | EllipsisType | None"
ArrayIndex: TypeAlias = "One | tuple[One, ...]"


def indexed(shape: Numbers, steps: Numbers, index: ArrayIndex) -> tuple[Numbers, Numbers, int]:
    """Return shape, strides in bytes, and the bytes from the first item to the first taken item."""
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
    """Yield the index of each axis, and None for each new axis."""
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
    # A single item left: the step is not taken, and its stride need not fit.
    return start, taken, stride * step if abs(stride * step) <= LARGEST else stride


def _place(index: Any, axis: int, count: int) -> int:
    """Return an index as a number from 0 on."""
    try:
        place = None if isinstance(index, bool | np.bool_) else operator.index(index)  # NumPy takes bools for masks
    except TypeError:
        place = None
    if place is None:
        raise LayoutIndexError(f"{index!r} is not an index: numbers, slices, ... and None take a part without a copy")
    if not -count <= place < count:
        raise LayoutIndexError(f"index {place} is out of range for axis {axis}, which has {count} items")
    return place % count


def repacked(shape: Numbers, steps: Numbers, itemsize: int, size: int, axis: int) -> tuple[Numbers, Numbers]:
    """Return shape and strides of the same bytes as items of another size, more or fewer of them along an axis."""
    if size < 1:
        raise LayoutError(f"itemsize {size}: an item has 1 byte or more")
    if shape[axis] > 1 and 0 not in shape and steps[axis] != itemsize:
        one = f"the items along axis {axis} are {steps[axis]} bytes apart, not {itemsize}"
        raise CopyNeededError(f"{one}: choose an axis without gaps, or copy it to a dense layout")
    there = shape[axis] * itemsize
    if (size < itemsize and itemsize % size) or there % size:
        held = f"axis {axis} has {shape[axis]} items of {itemsize} bytes"
        raise LayoutError(f"{held}, which cannot be whole items of {size} bytes")
    return _with(shape, axis, there // size), _with(steps, axis, size)


def check_aligned(offsets: Numbers, size: int) -> None:
    """Raise LayoutError unless offsets in bytes - strides, the slice offset, an address - are whole items of a size."""
    if wrong := [offset for offset in offsets if offset % size]:
        also = "aligned=False views them anyway"
        raise LayoutError(f"items of {size} bytes would be misaligned: {wrong[0]} is not a multiple of {size}; {also}")


def widest(offsets: Numbers, itemsize: int, limit: int) -> int:
    """Return the largest divisor of a limit that divides all offsets; itemsize if that is not whole items."""
    size = math.gcd(*offsets, limit)
    return itemsize if size % itemsize else size


def _with(values: Numbers, axis: int, value: int) -> Numbers:
    return (*values[:axis], value, *values[axis + 1 :])


def completed(wanted: Numbers, volume: int) -> Numbers:
    """Return a shape of so many items, with -1 replaced."""
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        raise LayoutError(f"shape {wanted}: item counts are 0 or more, and one may be -1, to be computed")
    known = math.prod(count for count in wanted if count != -1)
    if -1 in wanted and known and volume % known == 0:
        return tuple(volume // known if count == -1 else count for count in wanted)
    if -1 in wanted or known != volume:
        raise LayoutError(f"shape {wanted} does not fit {volume} items")
    return wanted


def restrided(shape: Numbers, steps: Numbers, wanted: Numbers, itemsize: int) -> Numbers | None:
    """Return strides of the same items, in C order, in a wanted shape; None if there are none.

    Both shapes have the same number of items.
    """
    if 0 in wanted:
        return (0,) * len(wanted)
    old = [(count, step) for count, step in zip(shape, steps, strict=True) if count != 1]
    found: list[int] = []
    for mine, theirs in _of_equal_volume([count for count, _ in old], wanted):
        if any(step != old[axis + 1][0] * old[axis + 1][1] for axis, (_, step) in list(enumerate(old))[mine][:-1]):
            return None
        found += _dense(wanted[theirs], old[mine][-1][1])
    rest = found[-1] if found else itemsize  # of axes of one item, for which any stride will do
    return (*found, *[rest] * (len(wanted) - len(found)))


def merged(shape: Numbers, steps: Numbers, mask: int) -> tuple[Numbers, Numbers, int]:
    """Return shape and strides with axes joined to the axes before them, and the mask of the joined axes.

    mask: bit i is set if axis i may be joined to axis i - 1.
    """
    groups: list[tuple[int, int]] = []
    joined = 0
    for axis, (count, step) in enumerate(zip(shape, steps, strict=True)):
        if axis and mask >> axis & 1 and (0 in shape or _continues(groups[-1], count, step)):
            groups[-1] = _joined(groups[-1], count, step)
            joined |= 1 << axis
        else:
            groups.append((count, step))
    return tuple(count for count, _ in groups), tuple(step for _, step in groups), joined


def _of_equal_volume(mine: Sequence[int], theirs: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """Yield the shortest runs of axes of two shapes that have equally many items."""
    i = j = 0
    while i < len(mine):
        first, second = i + 1, j + 1
        while (here := math.prod(mine[i:first])) != (there := math.prod(theirs[j:second])):
            if here < there:
                first += 1
            else:
                second += 1
        yield slice(i, first), slice(j, second)
        i, j = first, second


def _dense(counts: Sequence[int], step: int) -> list[int]:
    """Return the strides of dense axes, the last with a given stride."""
    found = []
    for count in reversed(counts):
        found.append(step)
        step *= count
    return found[::-1]


def _continues(group: tuple[int, int], count: int, step: int) -> bool:
    """Return whether an axis continues a group of axes."""
    return count == 1 or group[0] == 1 or group[1] == count * step


def _joined(group: tuple[int, int], count: int, step: int) -> tuple[int, int]:
    """Return a group of axes with another axis, the fastest."""
    if not group[0] * count:
        return 0, 0
    return group[0] * count, group[1] if count == 1 else step
