"""Copies of strided memory to and from a contiguous block, in as few pitched copies (Rows) as possible."""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gridjit.base.values import dataclass

# The widest pitch that the driver copies with.
MAX_PITCH = 2**31 - 1

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A pitched copy: height rows of width bytes each; depth planes of rows, if more than one.

    source_rows, destination_rows: rows from one plane to the next.
    """

    source: int
    destination: int
    width: int
    height: int = 1
    source_pitch: int = 0
    destination_pitch: int = 0
    depth: int = 1
    source_rows: int = 0
    destination_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisOrder:
    """The order and directions in which an array's axes are read."""

    axes: tuple[int, ...]
    slices: Any

    def of(self, array: Array) -> Array:
        """Return the view of array in this order and direction."""
        view: Array = array.transpose(self.axes)[self.slices]
        return view


def straightening(ghost: Array) -> AxisOrder:
    """Return the order that makes ghost's strides fall from axis to axis, none of them negative."""
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
    dense = _dense_strides(strided.shape, strided.itemsize)
    there = address_of(strided)
    if outward:
        return _blocks(_merged_pairs(strided.shape, dense, strided.strides), strided.itemsize, block, there)
    return _blocks(_merged_pairs(strided.shape, strided.strides, dense), strided.itemsize, there, block)


def plan_between(destination: Array, source: Array) -> list[Rows]:
    """Return the copies from one straightened ghost into another of the same shape: copies_between of them."""
    if not destination.size:
        return []
    axes = paired_axes(destination, source)
    return _blocks(axes, destination.itemsize, address_of(destination), address_of(source))


def copies_between(destination: Array, source: Array) -> int:
    """Return the number of pitched copies; where axes are in different orders, nearly one for each row of items."""
    loops, _ = _pitched(paired_axes(destination, source), destination.itemsize)
    return math.prod(count for count, _, _ in loops)


def run_between(destination: Array, source: Array) -> int:
    """Return how many bytes are contiguous in both of two straightened ghosts of the same shape."""
    return _pitched(paired_axes(destination, source), destination.itemsize)[1].width


def paired_axes(destination: Array, source: Array) -> list[tuple[int, int, int]]:
    """Return (count, step, source's step) in bytes of two ghosts' axes; axes that are one in both are merged."""
    return _merged_pairs(destination.shape, destination.strides, source.strides)


def address_of(array: Array) -> int:
    """Return an array's first item's address."""
    address: int = array.__array_interface__["data"][0]
    return address


def overlaps_itself(ghost: Array) -> bool:
    """Return whether two of an array's items may share memory; exact for slices and transposes."""
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


def _dense_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    return tuple(itertools.accumulate(shape[:0:-1], operator.mul, initial=itemsize))[::-1] if shape else ()


def _blocks(axes: list[tuple[int, int, int]], itemsize: int, to: int, of: int) -> list[Rows]:
    """Return the copies along axes, from one address to another."""
    loops, block = _pitched(axes, itemsize)
    return [
        dataclasses.replace(
            block,
            source=of + sum(i * loop[2] for i, loop in zip(index, loops, strict=True)),
            destination=to + sum(i * loop[1] for i, loop in zip(index, loops, strict=True)),
        )
        for index in itertools.product(*(range(loop[0]) for loop in loops))
    ]


def _pitched(axes: Sequence[tuple[int, int, int]], itemsize: int) -> tuple[list[tuple[int, int, int]], Rows]:
    """Return the axes to loop over, and one copy, at address 0: a row, rows, or planes of rows."""
    dims, width = list(axes), itemsize
    if dims and dims[-1][1:] == (width, width):
        width *= dims.pop()[0]
    if not (dims and all(width <= pitch <= MAX_PITCH for pitch in dims[-1][1:])):
        return dims, Rows(source=0, destination=0, width=width, source_pitch=width, destination_pitch=width)
    height, there, here = dims.pop()
    rows = Rows(source=0, destination=0, width=width, height=height, source_pitch=here, destination_pitch=there)
    if not dims:
        return dims, rows
    depth, to, of = dims[-1]
    if not (_is_planes(to, there, height) and _is_planes(of, here, height)):
        return dims, rows
    dims.pop()
    return dims, dataclasses.replace(rows, depth=depth, source_rows=of // here, destination_rows=to // there)


def _is_planes(plane: int, pitch: int, height: int) -> bool:
    """Return whether a step covers whole rows, and enough of them."""
    return plane % pitch == 0 and plane // pitch >= height


def _merged_pairs(shape: Sequence[int], strides: Sequence[int], others: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return (count, stride, other stride) of the dimensions; dimensions that are one in both memories are merged."""
    merged: list[tuple[int, int, int]] = []
    for count, stride, other in zip(shape, strides, others, strict=True):
        if count == 1:
            continue
        if merged and merged[-1][1:] == (count * stride, count * other):
            merged[-1] = (merged[-1][0] * count, stride, other)
        else:
            merged.append((count, stride, other))
    return merged
