"""Atomics: cuda.atomic in a kernel that is stepped through, where other threads cannot interfere anyway."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gridjit.runtime.stepping.block import lane


def _change(new: Callable[[Any, Any], Any]) -> Any:
    """Return an operation that replaces an item by new(old, value), and returns the old item.

    A thread that changes nothing may wait for another thread's change, so other threads run.
    """

    def operation(self: Any, array: Any, index: Any, value: Any) -> Any:
        old = array[index]
        array[index] = new(old, value)
        if array[index] == old:
            lane().pause()
        return old

    return operation


def _number(old: Any, value: Any, better: Callable[[Any, Any], Any]) -> Any:
    """Return the better of two, or the number if only one is a number."""
    if math.isnan(old) or math.isnan(value):
        return value if math.isnan(old) else old
    return better(old, value)


class Atomics:
    """cuda.atomic."""

    add = _change(lambda old, value: old + value)
    sub = _change(lambda old, value: old - value)
    and_ = _change(lambda old, value: old & value)
    or_ = _change(lambda old, value: old | value)
    xor = _change(lambda old, value: old ^ value)
    exch = _change(lambda old, value: value)
    inc = _change(lambda old, value: 0 if old >= value else old + 1)
    dec = _change(lambda old, value: value if old == 0 or old > value else old - 1)
    max = _change(lambda old, value: value if old < value else old)
    min = _change(lambda old, value: value if old > value else old)
    nanmax = _change(lambda old, value: _number(old, value, max))
    nanmin = _change(lambda old, value: _number(old, value, min))

    def cas(self, array: Any, index: Any, old: Any, value: Any) -> Any:
        """Replace an item that equals old by value; return the old item. If it differs, other threads run."""
        found = array[index]
        if found == old:
            array[index] = value
        else:
            lane().pause()
        return found

    def compare_and_swap(self, array: Any, old: Any, value: Any) -> Any:
        """Do so with an array's first item."""
        return self.cas(array, (0,) * array.ndim, old, value)
