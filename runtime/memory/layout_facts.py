"""LayoutFacts: properties of a layout, from its shape, strides, item size and offset; computed on demand.

Contiguous has NumPy's meaning: the strides of axes of one item, and of layouts without items, are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from gridjit.compiler.values.errors import LayoutError, LayoutOverflowError
from gridjit.compiler.values.signature import array_struct, layout_letter

MAX_NDIM = 64
LARGEST = 2**63 - 1


class LayoutFacts:
    """The base of StridedLayout: a layout's properties, without making another."""

    __slots__ = ()

    shape: tuple[int, ...]
    strides_in_bytes: tuple[int, ...]
    itemsize: int
    slice_offset_in_bytes: int

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def volume(self) -> int:
        """The number of items; 1 without axes."""
        return math.prod(self.shape)

    size = volume

    @property
    def strides(self) -> tuple[int, ...]:
        """Items, not bytes, from one index to the next, for each axis.

        Raises LayoutError if a stride is not a whole number of items, as in a field of packed records: use
        strides_in_bytes.
        """
        return tuple(self._items("stride", step) for step in self.strides_in_bytes)

    @property
    def slice_offset(self) -> int:
        """Items from offset 0, where the memory of the layout begins, to its first item; 0 unless it was sliced."""
        return self._items("slice offset", self.slice_offset_in_bytes)

    @property
    def stride_order(self) -> tuple[int, ...]:
        """The axes from the largest stride to the smallest, whatever their signs; equal strides by their place.

        (0, 1, 2) of a C-contiguous layout of three axes, (2, 1, 0) of an F-contiguous one.
        """
        return tuple(sorted(range(self.ndim), key=lambda axis: -abs(self.strides_in_bytes[axis])))

    @property
    def is_contiguous_c(self) -> bool:
        """Whether items lie without gaps, the last axis fastest."""
        return self._is_packed(range(self.ndim - 1, -1, -1))

    @property
    def is_contiguous_f(self) -> bool:
        """Whether items lie without gaps, the first axis fastest."""
        return self._is_packed(range(self.ndim))

    @property
    def is_contiguous_any(self) -> bool:
        """Whether items lie without gaps, none backwards, the axes in any order."""
        return self._is_packed(reversed(self.stride_order))

    @property
    def is_dense(self) -> bool:
        """Whether the items fill the bytes from offset 0 on: contiguous in some order of axes, and not sliced."""
        return self.slice_offset_in_bytes == 0 and self.is_contiguous_any

    @property
    def is_unique(self) -> bool:
        """Whether each item is sure to have its own memory.

        True is certain. False is certain if an axis has stride 0; if strides interleave, as only hand-made strides do,
        it may be False although no items overlap.
        """
        reach = self.itemsize
        for axis in reversed(self.stride_order if self.volume else ()):
            count, step = self.shape[axis], abs(self.strides_in_bytes[axis])
            if count > 1 and step < reach:
                return False
            reach += (count - 1) * step
        return True

    @property
    def extent(self) -> tuple[int, int]:
        """Where the memory of all items begins and ends, in bytes from offset 0; (0, 0) without items."""
        if 0 in self.shape:
            return (0, 0)
        low = self.slice_offset_in_bytes
        high = low + self.itemsize
        for count, step in zip(self.shape, self.strides_in_bytes, strict=True):
            if step < 0:
                low += (count - 1) * step
            else:
                high += (count - 1) * step
        return low, high

    @property
    def offset_bounds(self) -> tuple[int, int]:
        """The lowest and the highest offset of an item, in items, both included; (0, -1) without items.

        Raises LayoutError if they are not whole items: extent has bytes.
        """
        low, high = self.extent
        if low == high:
            return (0, -1)
        return self._items("offset", low), self._items("offset", high - self.itemsize)

    @property
    def min_offset(self) -> int:
        """The lowest offset of an item, in items; 0 without items."""
        return self.offset_bounds[0]

    @property
    def max_offset(self) -> int:
        """The highest offset of an item, in items; -1 without items."""
        return self.offset_bounds[1]

    @property
    def letter(self) -> str:
        """Its layout in numba: "C" or "F" if it is contiguous in that order, else "A"."""
        return layout_letter(self.is_contiguous_c, self.is_contiguous_f)

    def required_size_in_bytes(self) -> int:
        """Return how many bytes of memory, from offset 0 on, hold all items; raises LayoutError if some lie before.

        StridedLayout((3, 4), (8, 1), itemsize=4).required_size_in_bytes() == 80
        """
        low, high = self.extent
        if low < 0:
            raise LayoutError(f"items lie from byte {low} on, before offset 0: size the memory by extent {(low, high)}")
        return high

    def has_steps_of(self, alignment: int) -> bool:
        """Return whether all items are aligned to `alignment` bytes if the first one is."""
        steps = zip(self.shape, self.strides_in_bytes, strict=True)
        return 0 in self.shape or all(step % alignment == 0 for count, step in steps if count > 1)

    def parameters(self, address: int) -> tuple[int, ...]:
        """Return the launch parameters of an array with this layout, offset 0 at an address."""
        first = address + self.slice_offset_in_bytes
        return array_struct(first, self.volume, self.itemsize, self.shape, self.strides_in_bytes)

    def _items(self, what: str, count: int) -> int:
        """Return a number of bytes as a number of items."""
        items, rest = divmod(count, self.itemsize or 1)
        if rest:
            where = "use strides_in_bytes, slice_offset_in_bytes and extent"
            raise LayoutError(f"a {what} of {count} bytes is not a whole number of {self.itemsize}-byte items; {where}")
        return items

    def _is_packed(self, axes: Iterable[int]) -> bool:
        """Return whether items follow each other along these axes, the first fastest."""
        if 0 in self.shape:
            return True
        expected = self.itemsize
        for axis in axes:
            count = self.shape[axis]
            if count > 1 and self.strides_in_bytes[axis] != expected:
                return False
            expected *= count
        return True

    def _set(self, shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int, offset: int) -> None:
        """Set the fields of self, which is new."""
        put = object.__setattr__
        put(self, "shape", shape)
        put(self, "strides_in_bytes", steps)
        put(self, "itemsize", itemsize)
        put(self, "slice_offset_in_bytes", offset)

    def _check(self) -> None:
        """Raise LayoutError unless the layout is possible."""
        shape, steps = self.shape, self.strides_in_bytes
        if self.itemsize < 1:
            raise LayoutError(f"itemsize {self.itemsize}: an item has 1 byte or more")
        if len(shape) > MAX_NDIM:
            raise LayoutError(f"{len(shape)} axes: a layout has {MAX_NDIM} at most")
        if min(shape, default=0) < 0:
            raise LayoutError(f"shape {shape}: item counts are 0 or more")
        reached = (math.prod(shape), self.itemsize, self.slice_offset_in_bytes, *self.extent, *shape, *steps)
        if (furthest := max(map(abs, reached))) > LARGEST:
            which = f"shape {shape} with strides of {steps} bytes"
            raise LayoutOverflowError(f"{which}: {furthest} is beyond 64 bits, which counts and offsets have to fit")
