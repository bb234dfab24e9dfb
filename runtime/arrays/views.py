"""StridedMemoryViews as arguments: their parameters are packed when they are made, like device arrays'."""

from __future__ import annotations

from collections.abc import Hashable

from gridjit.runtime.args.device_arrays import OwnArray
from gridjit.runtime.args.handler import register
from gridjit.runtime.arrays.strided_view import StridedMemoryView


class View(OwnArray):
    """A StridedMemoryView, in memory that kernels can use."""

    def kind(self, value: StridedMemoryView) -> Hashable:
        return (StridedMemoryView, value._kind)


register(StridedMemoryView, View(StridedMemoryView, "a memory view"))
