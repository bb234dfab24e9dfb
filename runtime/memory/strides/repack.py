"""repack: the same bytes as items of another size, as ndarray.view(dtype) has it, along any axis."""

from __future__ import annotations

import math

from gridjit.compiler.errors import CopyNeededError, LayoutError
from gridjit.runtime.memory.strides.whole import Numbers


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
    """Return the largest divisor of a limit that all offsets are multiples of; itemsize if that is not whole items."""
    size = math.gcd(*offsets, limit)
    return itemsize if size % itemsize else size


def _with(values: Numbers, axis: int, value: int) -> Numbers:
    return (*values[:axis], value, *values[axis + 1 :])
