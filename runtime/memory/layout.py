"""StridedLayout: how an array's items lie in memory: shape, strides in bytes, item size. A frozen value.

It means by contiguous, aligned and dense what NumPy means, and knows no memory: offsets are from the first item.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import array_struct, layout_letter
from gridjit.values import dataclass

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedLayout:
    """Items along each axis, bytes from one to the next, and bytes of an item."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    def __post_init__(self) -> None:
        if len(self.strides) != len(self.shape):
            raise ArgumentError(f"strides {self.strides} do not go with shape {self.shape}")

    @classmethod
    def of(cls, array: Any) -> StridedLayout:
        """Return the layout of a NumPy array, or of what has its shape, strides and itemsize."""
        return cls(shape=array.shape, strides=array.strides, itemsize=array.itemsize)

    @classmethod
    def dense(cls, shape: tuple[int, ...], itemsize: int, order: str = "C") -> StridedLayout:
        """Return the layout without gaps in "C" or "F" order; raises ArgumentError for another."""
        if order not in ("C", "F"):
            raise ArgumentError(f"order={order!r}: 'C' or 'F'")
        axes = range(len(shape))
        return cls._filled(shape, itemsize, reversed(axes) if order == "C" else axes)

    @classmethod
    def dense_like(cls, shape: tuple[int, ...], strides: Sequence[int], itemsize: int) -> StridedLayout:
        """Return the layout without gaps whose axes are in the order of these strides, the largest outermost.

        Strides between no items are kept as they are.
        """
        if 0 in shape:
            return cls(shape=shape, strides=tuple(strides), itemsize=itemsize)
        axes = sorted(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis))
        return cls._filled(shape, itemsize, axes)

    @classmethod
    def _filled(cls, shape: tuple[int, ...], itemsize: int, axes: Iterable[int]) -> StridedLayout:
        """Return the layout without gaps along these axes, the first fastest."""
        strides, step = [0] * len(shape), itemsize
        for axis in axes:
            strides[axis] = step
            step *= shape[axis]
        return cls(shape=shape, strides=tuple(strides), itemsize=itemsize)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of items."""
        return math.prod(self.shape)

    @property
    def letter(self) -> str:
        """What numba calls it: "C" or "F" if it is dense in that order, else "A"."""
        axes = range(self.ndim)
        return layout_letter(self._is_dense(reversed(axes)), self._is_dense(axes))

    @property
    def extent(self) -> tuple[int, int]:
        """Where the memory of all items begins and ends, in bytes from the first item; (0, 0) if there are none."""
        if 0 in self.shape:
            return (0, 0)
        low, high = 0, self.itemsize
        for count, stride in zip(self.shape, self.strides, strict=True):
            if stride < 0:
                low += (count - 1) * stride
            else:
                high += (count - 1) * stride
        return low, high

    def has_steps_of(self, alignment: int) -> bool:
        """Return whether all items are aligned where the first one is."""
        steps = zip(self.shape, self.strides, strict=True)
        return 0 in self.shape or all(stride % alignment == 0 for count, stride in steps if count > 1)

    def parameters(self, address: int) -> tuple[int, ...]:
        """Return the launch parameters of an array so laid out, its first item at an address."""
        return array_struct(address, self.size, self.itemsize, self.shape, self.strides)

    def over(self, address: int, dtype: np.dtype[Any], owner: object = None) -> Array:
        """Return a NumPy array over memory, its first item at an address, which need not be this process's to read.

        owner: what the array keeps alive.
        """
        low, high = self.extent
        if low == high:
            return np.ndarray(self.shape, dtype, bytearray(), 0, self.strides)
        kind: Any = ctypes.c_char * (high - low)
        if owner is not None:
            kind = type("Owned", (kind,), {"owner": owner})
        return np.ndarray(self.shape, dtype, kind.from_address(address + low), -low, self.strides)

    def _is_dense(self, axes: Iterable[int]) -> bool:
        """Return whether items follow each other along these axes, the first fastest."""
        if 0 in self.shape:
            return True
        expected = self.itemsize
        for axis in axes:
            count = self.shape[axis]
            if count > 1 and self.strides[axis] != expected:
                return False
            expected *= count
        return True
