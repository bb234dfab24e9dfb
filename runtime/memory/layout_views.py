"""LayoutViews: the layouts of the views of an array, each as NumPy makes it; none looks at memory.

The modules that compute them are imported on first use: programs that only launch do not need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias, TypeVar

from gridjit.compiler.values.errors import CopyNeededError, LayoutError
from gridjit.runtime.memory.layout_facts import LayoutFacts

if TYPE_CHECKING:
    from gridjit.runtime.memory.strides import ArrayIndex

Layout = TypeVar("Layout", bound="LayoutViews")
Numbers: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"


class LayoutViews(LayoutFacts):
    """The base of StridedLayout: a layout's derived layouts."""

    __slots__ = ()

    def __getitem__(self: Layout, index: ArrayIndex) -> Layout:
        """Return the layout of x[index]: whole numbers, slices of any step, ... and None.

        Raises LayoutIndexError, an IndexError, for too many indices, and if an index is out of range or needs a copy.

            StridedLayout.dense((5, 4), 8)[1:, ::-1] == StridedLayout((4, 4), (4, -1), 8, slice_offset_in_bytes=56)
        """
        from gridjit.runtime.memory.strides import indexed

        shape, steps, offset = indexed(self.shape, self.strides_in_bytes, index)
        return self._view(shape, steps, offset=self.slice_offset_in_bytes + offset)

    sliced = __getitem__

    def permuted(self: Layout, axes: Sequence[SupportsIndex]) -> Layout:
        """Return the layout whose axis i is axis axes[i] of this layout; raises LayoutError unless each is given once.

        StridedLayout.dense((5, 3, 4), 1).permuted((2, 0, 1)).shape == (4, 5, 3)
        """
        from gridjit.runtime.memory.strides import axes_of, distinct_axes

        order = distinct_axes(axes, self.ndim, "axes")
        if len(order) != self.ndim:
            raise LayoutError(f"axes {order}: give each of {axes_of(self.ndim)} once")
        return self._view(tuple(self.shape[i] for i in order), tuple(self.strides_in_bytes[i] for i in order))

    def reshaped(self: Layout, shape: Numbers, order: str = "C") -> Layout:
        """Return the layout of the same items, taken in an order, in another shape.

        shape: one count may be -1, to be computed. order: "C" (last index fastest) or "F". Raises LayoutError for a
        shape of another size, and CopyNeededError if no strides give that shape: a copy in the layout of
        to_dense(order) can have it.

            StridedLayout.dense((5, 3, 4), 1).reshaped((20, -1)).strides == (3, 1)
        """
        from gridjit.runtime.memory.strides import all_whole, completed, restrided

        if (turn := {"C": 1, "F": -1}.get(order)) is None:
            raise LayoutError(f"order={order!r}: 'C' or 'F'")
        if (wanted := completed(all_whole(shape, "shape"), self.volume)) == self.shape:
            return self
        steps = restrided(self.shape[::turn], self.strides_in_bytes[::turn], wanted[::turn], self.itemsize)
        if steps is None:
            have = f"shape {self.shape} with strides of {self.strides_in_bytes} bytes"
            raise CopyNeededError(f"{have} has no view of shape {wanted}: copy the items to to_dense({order!r}) first")
        return self._view(wanted, steps[::turn])

    def flattened(self: Layout, start_axis: int = 0, end_axis: int = -1, mask: int | None = None) -> Layout:
        """Return the layout with axes joined to the axes before them, wherever one stride then serves for both.

        Only the axes from start_axis to end_axis, inclusive, are joined. mask: bit i is set if axis i may be joined to
        axis i - 1; flattened_axis_mask() of several layouts, combined with &, gives them all one shape. A layout
        without axes gets one axis. Raises LayoutIndexError for an axis that it does not have.

            StridedLayout((4, 5, 3), (30, 6, 1), itemsize=4).flattened() == StridedLayout((20, 3), (6, 1), itemsize=4)
        """
        from gridjit.runtime.memory.strides import axis_of, merged, whole

        if not self.ndim:
            return self.reshaped(1)
        first, last = axis_of(start_axis, self.ndim), axis_of(end_axis, self.ndim)
        between = sum(1 << axis for axis in range(first + 1, last + 1))
        joined = between if mask is None else between & whole(mask, "mask")
        shape, steps, _ = merged(self.shape, self.strides_in_bytes, joined)
        return self._view(shape, steps)

    def flattened_axis_mask(self) -> int:
        """Return the mask of the axes that flattened() joins to the axes before them: bit i stands for axis i."""
        from gridjit.runtime.memory.strides import merged

        return merged(self.shape, self.strides_in_bytes, -1)[2]

    def squeezed(self: Layout, axis: Numbers | None = None) -> Layout:
        """Return the layout without axes of one item: the given axes, or all.

        If all are asked for and there are no items, its shape is (0,). Raises LayoutError if a given axis has another
        number of items.

            StridedLayout.dense((1, 5, 1), 8).squeezed().shape == (5,)
        """
        from gridjit.runtime.memory.strides import all_whole, distinct_axes

        if axis is None and 0 in self.shape:
            return self._view((0,), (0,))
        ones = [i for i in range(self.ndim) if self.shape[i] == 1]
        gone = ones if axis is None else distinct_axes(all_whole(axis, "axis"), self.ndim, "axis")
        if kept := [i for i in gone if i not in ones]:
            raise LayoutError(f"axis {kept[0]} has {self.shape[kept[0]]} items: only axes of one item can be left out")
        left = [i for i in range(self.ndim) if i not in gone]
        return self._view(tuple(self.shape[i] for i in left), tuple(self.strides_in_bytes[i] for i in left))

    def unsqueezed(self: Layout, axis: Numbers) -> Layout:
        """Return the layout with new axes of one item; axis: their positions in the result, one or several.

        Raises LayoutIndexError for a position out of range, and LayoutError for a position that is given twice.

            StridedLayout.dense((5, 4), 8).unsqueezed((0, 2)).shape == (1, 5, 1, 4)
        """
        from gridjit.runtime.memory.strides import all_whole, distinct_axes

        given = all_whole(axis, "axis")
        places = distinct_axes(given, self.ndim + len(given), "axis")
        old = iter(self.shape)
        return self.reshaped(tuple(1 if i in places else next(old) for i in range(self.ndim + len(places))))

    def broadcast_to(self: Layout, shape: Numbers) -> Layout:
        """Return the layout repeated to a shape: strides are 0 along new axes and along axes that had one item.

        Raises LayoutError if an axis, counted from the last, has neither one item nor as many as the shape there.

            StridedLayout.dense((5, 1), 8).broadcast_to((3, 5, 4)).strides == (0, 1, 0)
        """
        from gridjit.runtime.memory.strides import all_whole, repeated

        wanted = all_whole(shape, "shape")
        return self._view(wanted, repeated(self.shape, self.strides_in_bytes, wanted))

    def repacked(
        self: Layout,
        itemsize: SupportsIndex,
        data_ptr: int = 0,
        axis: SupportsIndex = -1,
        keep_dim: bool = True,
        *,
        aligned: bool = True,
    ) -> Layout:
        """Return the layout of the same bytes as items of another size, like ndarray.view(dtype).

        itemsize: bytes of the new items. axis: the axis whose length changes; its items must be contiguous. data_ptr:
        the address of offset 0. keep_dim: whether an axis that is left with one larger item stays. aligned: whether
        larger items must be at multiples of their size. Raises LayoutError if they are not, and if bytes would
        be left over; CopyNeededError if there are gaps along the axis.

            StridedLayout.dense((5, 4), 4).repacked(8) == StridedLayout.dense((5, 2), 8)
        """
        from gridjit.runtime.memory.strides import axis_of, check_aligned, repacked, whole

        size = whole(itemsize, "itemsize")
        if size == self.itemsize:
            return self
        along = axis_of(axis, self.ndim)
        shape, steps = repacked(self.shape, self.strides_in_bytes, self.itemsize, size, along)
        if aligned and size > self.itemsize:
            check_aligned((*self._offsets(along), whole(data_ptr, "data_ptr")), size)
        made = self._view(shape, steps, itemsize=size)
        return made if keep_dim or size < self.itemsize or shape[along] != 1 else made.squeezed(along)

    def max_compatible_itemsize(
        self, max_itemsize: SupportsIndex = 16, data_ptr: int = 0, axis: SupportsIndex = -1
    ) -> int:
        """Return the largest item size that repacked(...) accepts and that divides max_itemsize.

        max_itemsize: in bytes; 16 is the widest that a GPU loads at once. data_ptr and axis: as for repacked. Raises
        LayoutError if items are already larger.

            StridedLayout.dense((5, 12), 2).max_compatible_itemsize() == 8
        """
        from gridjit.runtime.memory.strides import axis_of, whole, widest

        along, limit = axis_of(axis, self.ndim), whole(max_itemsize, "max_itemsize")
        if limit < self.itemsize:
            raise LayoutError(f"max_itemsize {limit}: items have {self.itemsize} bytes already")
        if self.shape[along] > 1 and 0 not in self.shape and self.strides_in_bytes[along] != self.itemsize:
            return self.itemsize
        offsets = (*self._offsets(along), whole(data_ptr, "data_ptr"), self.shape[along] * self.itemsize)
        return widest(offsets, self.itemsize, limit)

    def _offsets(self, but: int) -> tuple[int, ...]:
        """Return the offset and strides, in bytes, that must be whole items; without the stride of one axis."""
        if 0 in self.shape:
            return (self.slice_offset_in_bytes,)
        steps = (self.strides_in_bytes[i] for i in range(self.ndim) if i != but and self.shape[i] > 1)
        return (self.slice_offset_in_bytes, *steps)

    def _view(
        self: Layout, shape: tuple[int, ...], steps: tuple[int, ...], *, offset: int | None = None, itemsize: int = 0
    ) -> Layout:
        """Return the layout of these items, checked; omitted values are this layout's."""
        first = self.slice_offset_in_bytes if offset is None else offset
        made = self._made(shape, steps, itemsize or self.itemsize, first)
        made._check()
        return made

    @classmethod
    def _made(
        cls: type[Layout], shape: tuple[int, ...], steps: tuple[int, ...], itemsize: int, offset: int = 0
    ) -> Layout:
        """Return a layout from checked values."""
        made = cls.__new__(cls)
        made._set(shape, steps, itemsize, offset)
        return made
