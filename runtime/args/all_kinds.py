"""Every kind of argument, registered by being imported.

The order of the kinds that are found by what a type offers: the fastest way to its memory first.
"""

from gridjit.runtime.args import dates, direction, enums, pointers, records, tuples, type_objects
from gridjit.runtime.args import numba_values as foreign
from gridjit.runtime.args import numbers as scalars
from gridjit.runtime.args.arrays import cupy as cupy_arrays
from gridjit.runtime.args.arrays import device_arrays, dlpack, interfaces, tensors, unified_arrays
from gridjit.runtime.args.arrays import numpy_arrays as arrays

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
