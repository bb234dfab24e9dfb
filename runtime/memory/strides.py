"""whole: the whole numbers that shapes, strides and axes are made of, or a LayoutError that names what was given."""

from __future__ import annotations

import operator
from typing import Any

from gridjit.compiler.errors import LayoutError, LayoutIndexError

Numbers = tuple[int, ...]


def whole(value: Any, name: str) -> int:
    """Return value, called name in the error, as an int."""
    try:
        return operator.index(value)
    except TypeError:
        raise LayoutError(f"{name} {value!r}: not a whole number") from None


def all_whole(values: Any, name: str) -> Numbers:
    """Return values as a tuple of ints; one number is a tuple of it."""
    try:
        return (operator.index(values),)
    except TypeError:
        pass
    given = _in_order(values, name)
    try:
        return tuple(map(operator.index, given))
    except TypeError:
        raise LayoutError(f"{name} {values!r}: neither a whole number nor a sequence of them") from None


def _in_order(values: Any, name: str) -> tuple[Any, ...]:
    if isinstance(values, set | frozenset):
        raise LayoutError(f"{name} {values!r}: a set has no order; give a sequence")
    try:
        return tuple(values)
    except TypeError:
        raise LayoutError(f"{name} {values!r}: neither a whole number nor a sequence of them") from None


def axis_of(value: Any, ndim: int) -> int:
    """Return an axis as a number from 0 on; negative ones are counted from the end."""
    axis = whole(value, "axis")
    if not -ndim <= axis < ndim:
        raise LayoutIndexError(f"axis {axis} is out of range for {axes_of(ndim)}")
    return axis % ndim


def distinct_axes(values: Any, ndim: int, name: str) -> Numbers:
    """Return axes as numbers from 0 on, none of them twice."""
    axes = tuple(axis_of(value, ndim) for value in _in_order(values, name))
    if len(set(axes)) != len(axes):
        raise LayoutError(f"{name} {axes}: each axis may appear once")
    return axes


def axes_of(ndim: int) -> str:
    """Return how many axes there are, in words."""
    return "1 axis" if ndim == 1 else f"{ndim} axes"
