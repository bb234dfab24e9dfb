"""shown: a device array's first items for people, where its stream is at rest; they are few, and no error is raised."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.base.printable import lines, printable
from gridjit.runtime.queues.attention import recorders, watchers

if TYPE_CHECKING:
    from gridjit.runtime.memory.device_array import DeviceArray

MOST_BYTES = 4096
# Of a larger array, so many items at its beginning.
_FEW = 6


def items_of(array: DeviceArray) -> str:
    """Return the items of a small array, and the first items of a large array; "" for items that cannot be read now.

    Work that is recorded or watched for hazards is left alone.
    """
    if recorders or watchers:
        return ""
    try:
        return _items(array)
    except Exception as error:  # a lost device, a destroyed stream, items that NumPy cannot print
        let_through(error)
        return ""


def page_of(array: DeviceArray) -> str:
    """Return an array for a notebook: its type and place, and its items where they can be read now."""
    items = items_of(array)
    shown = f"<pre style='font-family:monospace'>{html.escape(items)}</pre>" if items else ""
    return f"<div>{html.escape(printable(array.described))}{shown}</div>"


def _items(array: DeviceArray) -> str:
    is_whole = array.size * array.dtype.itemsize <= MOST_BYTES
    if not is_whole and array.dtype.itemsize * _FEW > MOST_BYTES:
        return ""
    outer = max(array.ndim - 1, 0)
    values = array.peek(... if is_whole else (*(0,) * outer, slice(_FEW)))
    if values is None:
        return ""
    text = lines(np.array2string(values, separator=", ", threshold=64, edgeitems=3, max_line_width=100))
    more = ", ..." if array.ndim and array.shape[-1] > _FEW else ""
    return text if is_whole else f"{'[' * outer}{text[:-1]}{more}]{', ...]' * outer}"
