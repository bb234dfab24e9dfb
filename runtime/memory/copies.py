"""transfer: copies strided memory to and from a contiguous block in as few pitched copies (Rows) as possible."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridjit.values import dataclass

# The widest pitch that the driver copies with.
MAX_PITCH = 2**31 - 1

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A pitched copy: height rows of width bytes each."""

    source: int
    destination: int
    width: int
    height: int = 1
    source_pitch: int = 0
    destination_pitch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisOrder:
    """The order of axes, and the directions, in which an array is gone through."""

    axes: tuple[int, ...]
    slices: Any

    def of(self, array: Array) -> Array:
        """Return the view of array with its axes so ordered and directed."""
        view: Array = array.transpose(self.axes)[self.slices]
        return view


def straightening(ghost: Array) -> AxisOrder:
    """Return the turn that makes ghost's strides fall from axis to axis, none of them negative."""
    axes = tuple(sorted(range(ghost.ndim), key=lambda axis: -abs(ghost.strides[axis])))
    slices = (slice(None, None, -1 if ghost.strides[axis] < 0 else 1) for axis in axes)
    return AxisOrder(axes=axes, slices=(*slices, ...))


def without_repeats(ghost: Array) -> Array:
    """Return ghost with one item along each axis that repeats the same memory (stride 0)."""
    once: Any = (*(slice(0, 1 if stride == 0 else None) for stride in ghost.strides), ...)
    view: Array = ghost[once]
    return view


def plan(strided: Array, block: int, *, outward: bool) -> list[Rows]:
    """Return the copies between strided, a straightened ghost, and a C-contiguous block of memory at an address.

    outward: from strided to the block; else from the block to strided.
    """
    if not strided.size:
        return []
    dims = _merged(strided.shape, strided.strides, strided.itemsize)
    width, dims = _width(dims, strided.itemsize)
    loops, height, pitch = _rows(dims, width)
    address = address_of(strided)
    rows = []
    for number, index in enumerate(itertools.product(*(range(count) for count, _ in loops))):
        there = address + sum(i * stride for i, (_, stride) in zip(index, loops, strict=True))
        here = block + number * height * width
        rows.append(
            Rows(
                source=there, destination=here, width=width, height=height, source_pitch=pitch, destination_pitch=width
            )
            if outward
            else Rows(
                source=here, destination=there, width=width, height=height, source_pitch=width, destination_pitch=pitch
            )
        )
    return rows


def plan_between(destination: Array, source: Array) -> list[Rows]:
    """Return the copies from one straightened ghost into another of the same shape: copies_between of them."""
    if not destination.size:
        return []
    loops, width, height, (there, here) = _pitched(destination, source)
    to, of = address_of(destination), address_of(source)
    return [
        Rows(
            source=of + sum(i * loop[2] for i, loop in zip(index, loops, strict=True)),
            destination=to + sum(i * loop[1] for i, loop in zip(index, loops, strict=True)),
            width=width,
            height=height,
            source_pitch=here,
            destination_pitch=there,
        )
        for index in itertools.product(*(range(loop[0]) for loop in loops))
    ]


def copies_between(destination: Array, source: Array) -> int:
    """Return how many pitched copies it takes; where axes are in different orders, nearly one for each row of items."""
    return math.prod(count for count, _, _ in _pitched(destination, source)[0])


def address_of(array: Array) -> int:
    """Return where an array's first item is."""
    address: int = array.__array_interface__["data"][0]
    return address


def overlaps_itself(ghost: Array) -> bool:
    """Return whether two of an array's items may share memory; exact for what slicing and transposing make."""
    if not ghost.size:
        return False
    straight = straightening(ghost).of(ghost)
    reach = straight.itemsize
    for count, stride in sorted(zip(straight.shape, straight.strides, strict=True), key=lambda dim: dim[1]):
        if count > 1:
            if stride < reach:
                return True
            reach = stride * (count - 1) + reach
    return False


def _merged(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[tuple[int, int]]:
    """Return (count, stride) of the dimensions, outermost first, with those merged that are one in memory."""
    merged: list[tuple[int, int]] = []
    for count, stride in zip(shape, strides, strict=True):
        if count == 1:
            continue
        if merged and merged[-1][1] == count * stride:
            merged[-1] = (merged[-1][0] * count, stride)
        else:
            merged.append((count, stride))
    return merged


def _pitched(destination: Array, source: Array) -> tuple[list[tuple[int, int, int]], int, int, tuple[int, int]]:
    """Return the dimensions to loop over, and the width, height and pitches (destination's, source's) of one copy."""
    dims, width = _merged_pairs(destination.shape, destination.strides, source.strides), destination.itemsize
    if dims and dims[-1][1:] == (width, width):
        width *= dims.pop()[0]
    if dims and all(width <= pitch <= MAX_PITCH for pitch in dims[-1][1:]):
        height, there, here = dims.pop()
        return dims, width, height, (there, here)
    return dims, width, 1, (width, width)


def _merged_pairs(shape: Sequence[int], strides: Sequence[int], others: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (count, stride, other stride) of the dimensions, with those merged that are one in both memories."""
    merged: list[tuple[int, int, int]] = []
    for count, stride, other in zip(shape, strides, others, strict=True):
        if count == 1:
            continue
        if merged and merged[-1][1:] == (count * stride, count * other):
            merged[-1] = (merged[-1][0] * count, stride, other)
        else:
            merged.append((count, stride, other))
    return merged


def _width(dims: list[tuple[int, int]], itemsize: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the bytes of a contiguous run, and the dimensions around it."""
    if dims and dims[-1][1] == itemsize:
        return dims[-1][0] * itemsize, dims[:-1]
    return itemsize, dims


def _rows(dims: list[tuple[int, int]], width: int) -> tuple[list[tuple[int, int]], int, int]:
    """Return the dimensions to loop over, and the height and pitch of one copy."""
    if dims and width <= dims[-1][1] <= MAX_PITCH:
        return dims[:-1], dims[-1][0], dims[-1][1]
    return dims, 1, width
