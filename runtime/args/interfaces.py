"""Objects with __cuda_array_interface__ as arguments: memory on a CUDA device that someone else owns.

Protocol: numba.readthedocs.io, "CUDA Array Interface", versions 2 and 3. A stream in it has to be waited for by the
launch's own.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import ArgType, ArrayType
from gridjit.runtime.args.arrays import array_parameters, array_type, dense
from gridjit.runtime.args.base import ArgumentHandler, Parameters, Place, register_attribute, register_finder
from gridjit.runtime.args.transfer import Array, Transfer, array_at
from gridjit.runtime.native.operation import Operation

Interface = dict[str, Any]


class CudaArrayInterface:
    """An object with __cuda_array_interface__."""

    def kind(self, value: Any) -> Hashable:
        described = described_array(value.__cuda_array_interface__)
        return (CudaArrayInterface, described.dtype, described.ndim, described.flags.num)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        if place.is_host:
            raise ArgumentError(
                f"a {type(value).__module__}.{type(value).__qualname__} has its data on a CUDA device and cannot be "
                "passed to a kernel on the host; copy it to the host first"
            )
        return array_type(described_array(value.__cuda_array_interface__))

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        interface: Interface = value.__cuda_array_interface__
        transfer.wait_for(interface.get("stream"))
        return array_parameters(described_array(interface), int(interface["data"][0] or 0))

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def described_array(interface: Interface) -> Array:
    """Return a ghost of what an interface describes; raises ArgumentError for what kernels cannot use."""
    if interface.get("mask") is not None:
        raise ArgumentError("a masked array cannot be passed to a kernel; pass its data and its mask")
    if (version := interface.get("version", 0)) < 2:
        raise ArgumentError(f"version {version} of __cuda_array_interface__ is not known; 2 and 3 are")
    descr = interface.get("descr")
    structured = interface["typestr"][1] == "V" and descr
    dtype = np.dtype([tuple(field) for field in descr or ()] if structured else interface["typestr"])
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides")
    if strides is None:
        strides = dense(shape, dtype.itemsize)
    address, readonly = interface["data"]
    made = array_at(int(address or 0), shape, tuple(map(int, strides)), dtype)
    if readonly:
        made.flags.writeable = False
    return made


_handler = CudaArrayInterface()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if hasattr(python_type, "__cuda_array_interface__") else None


register_finder(2, _find)
register_attribute("__cuda_array_interface__", _handler)
