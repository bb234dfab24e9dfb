"""StridedLayout: each way to make one, and what it says and makes, has its type."""

import numpy as np
from typing_extensions import assert_type

import gridjit
from gridjit import StridedLayout

layout = StridedLayout((3, 4), (8, 1), 4)
assert_type(layout, StridedLayout)
assert_type(StridedLayout((3, 4), None, itemsize=4), StridedLayout)
assert_type(StridedLayout([3, 4], strides_in_bytes=(32, 4), itemsize=np.int64(4)), StridedLayout)
assert_type(StridedLayout(5, itemsize=4, slice_offset_in_bytes=16), StridedLayout)
assert_type(StridedLayout.dense((3, 4), 4), StridedLayout)
assert_type(StridedLayout.dense((3, 4), 4, "F").to_dense((1, 0)), StridedLayout)
assert_type(StridedLayout.of(np.zeros(4)), StridedLayout)
assert_type(StridedLayout.dense_like(layout, "K"), StridedLayout)
assert_type(layout[1], StridedLayout)
assert_type(layout[::-1, ..., None], StridedLayout)
assert_type(layout.sliced((slice(None), np.int64(2))), StridedLayout)
assert_type(layout.permuted([1, 0]).reshaped((2, -1)).reshaped(12, "F"), StridedLayout)
assert_type(layout.flattened(0, -1, mask=layout.flattened_axis_mask()), StridedLayout)
assert_type(layout.unsqueezed(0).squeezed().squeezed((0,)), StridedLayout)
assert_type(layout.broadcast_to((2, 3, 4)).repacked(8, axis=-1, keep_dim=False, aligned=False), StridedLayout)
assert_type(
    (layout.shape, layout.strides, layout.strides_in_bytes), tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
)
assert_type((layout.ndim, layout.volume, layout.itemsize, layout.slice_offset), tuple[int, int, int, int])
assert_type(layout.stride_order, tuple[int, ...])
assert_type(layout.offset_bounds, tuple[int, int])
assert_type(layout.is_contiguous_c and layout.is_contiguous_any and layout.is_dense and layout.is_unique, bool)
assert_type(layout.required_size_in_bytes(), int)
assert_type(layout.max_compatible_itemsize(16, axis=1), int)
assert_type({layout: 1}[layout], int)
try:
    layout.reshaped(5)
except (gridjit.LayoutError, gridjit.CopyNeededError) as error:
    caught: ValueError = error
    print(caught)

StridedLayout((3, 4))  # wrong: how large are the items?
StridedLayout((3, 4), (4, 1), 4, strides_in_bytes=(16, 4))  # wrong: strides in items, or in bytes
StridedLayout((3, 4), (4.0, 1.0), 4)  # wrong: whole numbers
StridedLayout.dense((3, 4))  # wrong: how large are the items?
layout.shape = (12,)  # wrong: it is what it is
layout.strides = (1, 3)  # wrong: it is what it is
layout["a"]  # wrong: not an index
layout[[0, 1]]  # wrong: only a copy has it
layout.permuted(0, 1)  # wrong: the axes are one argument
layout.reshape((12,))  # wrong: reshaped makes another
