"""NumPy's datetime64 and timedelta64 as arguments: a count of their unit, in 64 bits."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.values.item_types import item_type
from gridjit.compiler.values.signature import ScalarType
from gridjit.runtime.args.handler import FromPython, Parameters, Place, register
from gridjit.runtime.memory.staging import Transfer


class Date(FromPython):
    """A datetime64 or timedelta64 with a unit."""

    def kind(self, value: np.generic) -> Hashable:
        return value.dtype

    def type_of(self, value: np.generic, place: Place) -> ScalarType:
        return ScalarType(dtype=str(item_type(value.dtype)))

    def parameters(self, value: np.generic, transfer: Transfer) -> Parameters:
        count: Any = value.view(np.int64)
        return (int(count),)


register(np.datetime64, Date())
register(np.timedelta64, Date())
