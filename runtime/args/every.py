"""Every kind of argument, registered by being imported.

The order of the kinds that are found by what a type offers: the fastest way to its memory first.
"""

from gridjit.runtime.args import (  # isort: skip
    arrays,
    dates,
    device_arrays,
    direction,
    enums,
    records,
    scalars,
    tuples,
    unified_arrays,
    tensors,
    cupy_arrays,
    interfaces,
    dlpack,
    pointers,
    type_objects,
    foreign,
)

__all__ = [
    "arrays",
    "cupy_arrays",
    "dates",
    "device_arrays",
    "direction",
    "dlpack",
    "enums",
    "foreign",
    "interfaces",
    "pointers",
    "records",
    "scalars",
    "tensors",
    "tuples",
    "type_objects",
    "unified_arrays",
]
