"""NumPy arrays as arguments: used in place, wherever their memory is and however they are strided."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import SCALAR_CODES, ArrayType
from gridjit.runtime.args.base import register


class HostArray:
    """A NumPy array: a pointer, a shape and strides in bytes, as numba lays out an array."""

    def kind(self, value: np.ndarray) -> Hashable:
        return (value.dtype, value.ndim, value.flags.num)

    def type_of(self, value: np.ndarray) -> ArrayType:
        name = value.dtype.name
        if name not in SCALAR_CODES:
            raise ArgumentError(f"an array of {value.dtype} cannot be passed to a kernel; use numbers")
        if not value.dtype.isnative:
            raise ArgumentError(f"an array of {value.dtype} has foreign byte order; convert it with astype('{name}')")
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return ArrayType(
            dtype=name, ndim=value.ndim, layout=layout, readonly=not flags.writeable, aligned=flags.aligned
        )

    def parameters(self, value: np.ndarray) -> tuple[int, ...]:
        address = value.__array_interface__["data"][0]
        return (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)


register(np.ndarray, HostArray())
