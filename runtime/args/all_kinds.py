"""Every kind of argument, registered by being imported.

The order of the kinds that are found by what a type offers: the fastest way to its memory first. A StridedMemoryView's
kind is registered by the module of that class.
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
]
