"""ctypes pointers as arguments: a bare address that kernels index, with no length."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import item_type
from gridjit.compiler.values.signature import PointerType
from gridjit.runtime.args.handler import ArgumentHandler, FromPython, Parameters, Place, register_finder
from gridjit.runtime.memory.staging import Transfer


class Pointer(FromPython):
    """A ctypes pointer: ctypes.POINTER(c_float), or c_void_p."""

    def kind(self, value: Any) -> Hashable:
        return (type(value),)

    def type_of(self, value: Any, place: Place) -> PointerType:
        inner = getattr(type(value), "_type_", None)
        if type(value) is ctypes.c_void_p or not isinstance(inner, type):
            return PointerType(dtype="void")
        try:
            item = item_type(np.dtype(inner))
        except (TypeError, NotImplementedError):
            item = None
        if not isinstance(item, str):
            raise ArgumentError(f"a pointer to {inner.__name__} cannot be passed to a kernel; point to numbers")
        return PointerType(dtype=item)

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        return (ctypes.cast(value, ctypes.c_void_p).value or 0,)


_handler = Pointer()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if issubclass(python_type, (ctypes._Pointer, ctypes.c_void_p)) else None


register_finder(4, _find)
