"""indices: the meaning of an index, an assignment or a new shape of a device array, from its ghost, without a copy."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

import numpy as np

from gridjit.compiler.values.errors import CopyNeededError, LayoutError, ShapeError, shown
from gridjit.runtime.memory.copies import Array

_NUMPY_CAN_REFUSE = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)


def view_key(key: Any) -> Any:
    """Return key, made to always give a view; raises TypeError if it needs a copy."""
    if isinstance(key, str):
        return key
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if isinstance(part, bool | np.bool_) or not (
            part is None or part is Ellipsis or isinstance(part, slice | SupportsIndex)
        ):
            raise TypeError(f"index {part!r}: arrays on the device take integers, slices, None and ...")
        if isinstance(part, np.ndarray):
            raise TypeError("arrays on the device cannot be indexed with arrays; copy_to_host() first")
    return parts if Ellipsis in parts else (*parts, ...)


def is_full_index(key: Any, ndim: int) -> bool:
    """Return whether key names one item by its index along each axis."""
    parts = key if isinstance(key, tuple) else (key,)
    return not isinstance(key, str) and len(parts) == ndim and all(isinstance(part, SupportsIndex) for part in parts)


def broadcast(values: Array, shape: tuple[int, ...]) -> Array:
    """Return values repeated to shape, as an assignment does; raises ShapeError in numba-cuda's words."""
    extra = max(values.ndim - len(shape), 0)
    if values.shape[:extra] != (1,) * extra:
        raise ShapeError(f"Can't assign {values.ndim}-D array to {len(shape)}-D self")
    values = values.reshape(values.shape[extra:])
    first = len(shape) - values.ndim
    for axis, (size, wanted) in enumerate(zip(values.shape, shape[first:], strict=True), first):
        if size not in (1, wanted):
            raise ShapeError(f"Can't copy sequence with size {size} to array axis {axis} with dimension {wanted}")
    return np.broadcast_to(values, shape)


def reshaped(ghost: Array, shape: tuple[int, ...]) -> Array:
    """Return the view of a ghost with another shape; raises CopyNeededError if there is none."""
    try:
        if _NUMPY_CAN_REFUSE:
            return ghost.reshape(shape, copy=False)
        view = ghost.view()
        view.shape = shape
        return view
    except TypeError:
        raise LayoutError(f"reshape({shown(shape)}): give whole numbers, or a tuple of them") from None
    except (ValueError, AttributeError):
        if not _has_as_many(ghost.size, shape):
            words = f"shape {ghost.shape} to {shape}; give one for {ghost.size} items"
            raise LayoutError(f"reshape changes the size of the array: {words}") from None
        raise CopyNeededError(
            f"shape {ghost.shape} with strides {ghost.strides} does not become {shape} without a copy; copy the array "
            "into one that is dense, or reshape it on the host"
        ) from None


def _has_as_many(size: int, shape: tuple[int, ...]) -> bool:
    """Return whether a shape, in which one number may be -1, fits so many items."""
    known = math.prod(number for number in shape if number != -1)
    if min(shape, default=0) < -1 or shape.count(-1) > 1:
        return False
    return known != 0 and size % known == 0 if -1 in shape else known == size
