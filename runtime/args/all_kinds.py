"""Every kind of argument, registered by being imported.

The order of the kinds that are found by a type's protocols: the fastest way to its memory first.
"""

from gridjit.runtime.args import (
    cupy,
    dates,
    device_arrays,
    direction,
    dlpack_objects,
    enums,
    host_arrays,
    host_objects,
    interfaces,
    numba_values,
    numbers,
    pointers,
    records,
    tensors,
    tuples,
    type_objects,
    unified_arrays,
)
from gridjit.runtime.arrays import views

__all__ = [
    "cupy",
    "dates",
    "device_arrays",
    "direction",
    "dlpack_objects",
    "enums",
    "host_arrays",
    "host_objects",
    "interfaces",
    "numba_values",
    "numbers",
    "pointers",
    "records",
    "tensors",
    "tuples",
    "type_objects",
    "unified_arrays",
    "views",
]
