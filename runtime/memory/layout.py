"""StridedLayout: an array's shape, strides, item size and offset. A frozen value.

It refers to no memory and no device. Its strides mean the same as NumPy's, and it makes the views that NumPy makes.
Strides are kept in bytes, because some arrays' strides are not whole numbers of items.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias, overload

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import LayoutError, a_class
from gridjit.runtime.memory.layout_facts import LARGEST, MAX_NDIM
from gridjit.runtime.memory.layout_views import LayoutViews, Numbers

Array = np.ndarray[Any, Any]
# "C", "F", or all axes from the slowest to the fastest; "K" keeps the order.
Order: TypeAlias = "str | Sequence[SupportsIndex]"


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedLayout(LayoutViews):
    """An array's shape, strides and item size.

    shape: items along each axis, up to 64 axes. strides: items from one index to the next, for each axis; they may be 0
    or negative; None: dense, in C order. strides_in_bytes: the same in bytes, instead. itemsize: bytes of an item, 1 or
    more. slice_offset_in_bytes: from offset 0, where the memory begins, to the first item.

    Layouts are equal, and hash alike, if all of these are equal. All methods return other layouts; none looks at
    memory. Raises LayoutError, a ValueError, for an impossible layout; LayoutOverflowError, also an OverflowError, for
    counts and offsets beyond 64 bits.

        layout = StridedLayout((5, 4), (4, 1), itemsize=8)
        layout[::2, 1].strides == (8,)
    """

    shape: tuple[int, ...]
    strides_in_bytes: tuple[int, ...]
    itemsize: int
    slice_offset_in_bytes: int

    @overload
    def __init__(
        self, shape: Numbers, strides: Numbers | None, itemsize: SupportsIndex, *, slice_offset_in_bytes: int = 0
    ) -> None: ...

    @overload
    def __init__(
        self,
        shape: Numbers,
        strides: Numbers | None = None,
        *,
        itemsize: SupportsIndex,
        strides_in_bytes: Numbers | None = None,
        slice_offset_in_bytes: int = 0,
    ) -> None: ...

    def __init__(
        self,
        shape: Numbers,
        strides: Numbers | None = None,
        itemsize: SupportsIndex | None = None,
        *,
        strides_in_bytes: Numbers | None = None,
        slice_offset_in_bytes: SupportsIndex = 0,
    ) -> None:
        dims, size = _numbers(shape, "shape"), _number(itemsize, "itemsize")
        if strides is not None and strides_in_bytes is not None:
            raise LayoutError("strides and strides_in_bytes: give one of them")
        if strides is not None:
            given = _numbers(strides, "strides")
            steps = tuple(step * size for step in given)
        elif strides_in_bytes is not None:
            given = steps = _numbers(strides_in_bytes, "strides_in_bytes")
        else:
            given = steps = self._packed(dims, size, range(len(dims))).strides_in_bytes
        if len(given) != len(dims):
            raise LayoutError(f"strides {given} do not fit shape {dims}: give one for each axis")
        self._set(dims, steps, size, _number(slice_offset_in_bytes, "slice_offset_in_bytes"))
        self._check()

    @classmethod
    def of(cls, array: Any) -> StridedLayout:
        """Return the layout of a NumPy array, or of anything with a shape, strides in bytes and an itemsize.

        Raises LayoutError for an object without them.
        """
        try:
            return cls._made(array.shape, array.strides, array.itemsize)
        except AttributeError as error:
            raise LayoutError(f"{a_class(type(array))} does not describe its layout: {error}") from None

    @classmethod
    def dense(cls, shape: Numbers, itemsize: SupportsIndex, order: Order = "C") -> StridedLayout:
        """Return the layout without gaps in an order: "C" (last axis fastest), "F", or axes from slowest to fastest.

        shape: items along each axis. itemsize: bytes of an item. Raises LayoutError for another order.

            StridedLayout.dense((5, 3, 7), 4, (2, 0, 1)).strides == (3, 1, 15)
        """
        dims, size = _numbers(shape, "shape"), _number(itemsize, "itemsize")
        return cls._packed(dims, size, _axes(order, len(dims)))

    @classmethod
    def dense_like(cls, other: Any, order: Order = "K") -> StridedLayout:
        """Return the dense layout with the shape and item size of other, a layout or an array.

        order: as for dense, or "K": the order of other's strides.
        """
        return (other if isinstance(other, StridedLayout) else cls.of(other)).to_dense(order)

    def to_dense(self, order: Order = "K") -> StridedLayout:
        """Return the layout of a copy: the same shape and item size, without gaps, not sliced.

        order: "C", "F", axes from slowest to fastest, or "K": C or F order if the items have it, else the order of the
        strides, whatever their signs. If there are no items, or no bytes in them, "K" keeps the strides.

            StridedLayout((3, 4), (1, -9), itemsize=8).to_dense().strides == (1, 3)
        """
        if not (isinstance(order, str) and order == "K"):
            return self.dense(self.shape, self.itemsize, order)
        if 0 in self.shape or not self.itemsize:
            return self._made(self.shape, self.strides_in_bytes, self.itemsize)
        axes: Sequence[int] = range(self.ndim)
        if not self.is_contiguous_c:
            axes = axes[::-1] if self.is_contiguous_f else self.stride_order
        return self._packed(self.shape, self.itemsize, axes)

    def over(self, address: int, dtype: np.dtype[Any], owner: object = None) -> Array:
        """Return a NumPy array over memory, offset 0 at an address, even one that this process cannot read.

        dtype: the type of its items. owner: kept alive by the array.
        """
        low, high = self.extent
        if low == high:
            return np.ndarray(self.shape, dtype, bytearray(), 0, self.strides_in_bytes)
        kind: Any = ctypes.c_char * (high - low)
        memory: Any = kind.from_address(address + low)
        if owner is not None:
            memory = np.asarray(_Kept(address + low, high - low, owner))
        first = self.slice_offset_in_bytes - low
        return np.ndarray(self.shape, dtype, memory, first, self.strides_in_bytes)

    @classmethod
    def _packed(cls, shape: tuple[int, ...], itemsize: int, axes: Sequence[int]) -> StridedLayout:
        """Return the layout without gaps along these axes, the last fastest; with strides 0 if there are no items."""
        steps, step = [0] * len(shape), itemsize
        if 0 not in shape:
            for axis in reversed(axes):
                steps[axis] = step
                step *= shape[axis]
        made = cls._made(shape, tuple(steps), itemsize)
        if not 0 < step <= LARGEST or len(shape) > MAX_NDIM or min(shape, default=0) < 0:
            made._check()
        return made

    def __repr__(self) -> str:
        whole = not any(step % (self.itemsize or 1) for step in self.strides_in_bytes)
        strides = f"strides={self.strides}" if whole else f"strides_in_bytes={self.strides_in_bytes}"
        offset = f", slice_offset_in_bytes={self.slice_offset_in_bytes}" if self.slice_offset_in_bytes else ""
        return f"StridedLayout(shape={self.shape}, {strides}, itemsize={self.itemsize}{offset})"


class _Kept:
    """Bytes of memory for NumPy, with the object that must live as long as an array over them."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address: int, size: int, owner: object) -> None:
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}
        self.owner = owner


def _axes(order: Order, ndim: int) -> Sequence[int]:
    """Return the axes from the slowest to the fastest."""
    if isinstance(order, str):
        if order not in ("C", "F"):
            raise LayoutError(f"order={order!r}: 'C' or 'F', or the axes from the slowest to the fastest")
        return range(ndim) if order == "C" else range(ndim - 1, -1, -1)
    from gridjit.runtime.memory.strides import all_whole, axes_of, distinct_axes

    axes = distinct_axes(all_whole(order, "order"), ndim, "order")
    if len(axes) != ndim:
        raise LayoutError(f"order={axes}: give each of {axes_of(ndim)} once")
    return axes


def _numbers(values: Any, name: str) -> tuple[int, ...]:
    if type(values) is tuple and {int}.issuperset(map(type, values)):
        return values  # new arrays give such tuples, and need not load the rest
    from gridjit.runtime.memory.strides import all_whole

    return all_whole(values, name)


def _number(value: Any, name: str) -> int:
    if type(value) is int:
        return value
    from gridjit.runtime.memory.strides import whole

    return whole(value, name)
