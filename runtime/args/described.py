"""Described: an array in someone else's memory, by its address, shape, strides and item type. A frozen value."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.item_types import identity, item_type
from gridjit.compiler.signature import ArrayType
from gridjit.runtime.args.arrays import dense
from gridjit.runtime.args.base import Parameters
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """An array. strides: in bytes, None if it is C-contiguous; writable: whether kernels may write it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    writable: bool = True

    @property
    def kind(self) -> Hashable:
        """What decides its type."""
        return (*identity(self.dtype), *self._layout)

    @property
    def type(self) -> ArrayType:
        """What a kernel is compiled for."""
        ndim, layout, aligned, readonly = self._layout
        return ArrayType(dtype=item_type(self.dtype), ndim=ndim, layout=layout, readonly=readonly, aligned=aligned)

    @property
    def parameters(self) -> Parameters:
        """What a launch passes, as numba lays out an array."""
        size = functools.reduce(int.__mul__, self.shape, 1)
        itemsize = self.dtype.itemsize
        strides = dense(self.shape, itemsize) if self.strides is None else self.strides
        return (0, 0, size, itemsize, self.address, *self.shape, *strides)

    @property
    def _layout(self) -> tuple[int, str, bool, bool]:
        """Dimensions, layout, whether items are aligned, whether they are read-only."""
        step = self.dtype.alignment
        layout, aligned = _shaped(self.shape, self.strides, self.dtype.itemsize, step)
        return (len(self.shape), layout, aligned and self.address % step == 0, not self.writable)


@functools.lru_cache(maxsize=1024)
def _shaped(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int, step: int) -> tuple[str, bool]:
    """Return the layout of an array, and whether its items are step bytes apart if the first is; as NumPy sees it."""
    if strides is None or 0 in shape:
        return "C", True
    long = [axis for axis, count in enumerate(shape) if count != 1]
    aligned = all(strides[axis] % step == 0 for axis in long)
    if _is_dense(shape, strides, itemsize, reversed(long)):
        return "C", aligned
    return ("F" if _is_dense(shape, strides, itemsize, long) else "A"), aligned


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, axes: Any) -> bool:
    """Return whether items follow each other along these axes, the first fastest."""
    expected = itemsize
    for axis in axes:
        if strides[axis] != expected:
            return False
        expected *= shape[axis]
    return True
