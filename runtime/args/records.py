"""Records (NumPy structured scalars) as arguments: passed by address, so that kernels can write to them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import identity, item_type
from gridjit.compiler.values.signature import RecordType
from gridjit.runtime.args.handler import FromPython, Parameters, Place, register
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.memory.staging import Transfer


class Record(FromPython):
    """A structured value: an item of a structured array, which kernels see and change in place."""

    def kind(self, value: np.void) -> Hashable:
        return identity(value.dtype)

    def type_of(self, value: np.void, place: Place) -> RecordType:
        found = item_type(value.dtype) if value.dtype.names is not None else None
        if not isinstance(found, RecordType):
            raise ArgumentError(f"a NumPy {value.dtype} has no fields, so it cannot be passed to a kernel by itself")
        return found

    def parameters(self, value: np.void, transfer: Transfer) -> Parameters:
        array = _view(value)
        if transfer.space is not None:
            array = transfer.stage(array)
        return (array.__array_interface__["data"][0],)


def _view(value: np.void) -> np.ndarray[Any, Any]:
    """Return a 0-d array over the record's own memory."""
    # Its __array_interface__ is a copy's; the buffer protocol gives the memory itself.
    own: Any = np.frombuffer(value, np.uint8)
    return StridedLayout.of(value).over(own.__array_interface__["data"][0], value.dtype)


register(np.void, Record())
