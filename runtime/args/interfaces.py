"""Objects with __cuda_array_interface__ as arguments: memory on a CUDA device that someone else owns.

Protocol: numba.readthedocs.io, "CUDA Array Interface", versions 2 and 3. A stream in it has to be waited for by the
launch's own.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

import numpy as np

from gridjit.compiler.errors import ArgumentError
from gridjit.compiler.signature import ArgType, ArrayType
from gridjit.runtime.args.base import ArgumentHandler, Parameters, Place, register_attribute, register_finder
from gridjit.runtime.args.described import Described
from gridjit.runtime.args.transfer import Transfer
from gridjit.runtime.native.operation import Operation

Interface = dict[str, Any]


class CudaArrayInterface:
    """An object with __cuda_array_interface__."""

    def kind(self, value: Any) -> Hashable:
        return (CudaArrayInterface, described(value.__cuda_array_interface__).kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        refuse_on_host(value, place)
        return described(value.__cuda_array_interface__).type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        interface: Interface = value.__cuda_array_interface__
        if (stream := interface.get("stream")) is not None:
            transfer.wait_for(stream)
        return described(interface).parameters

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        return None


def refuse_on_host(value: Any, place: Place) -> None:
    """Raise ArgumentError for an array on a CUDA device, if kernels run on the host."""
    if place.is_host:
        raise ArgumentError(
            f"a {type(value).__module__}.{type(value).__qualname__} has its data on a CUDA device and cannot be "
            "passed to a kernel on the host; copy it to the host first"
        )


def described(interface: Interface) -> Described:
    """Return what an interface describes; raises ArgumentError for what kernels cannot use."""
    if interface.get("mask") is not None:
        raise ArgumentError("a masked array cannot be passed to a kernel; pass its data and its mask")
    if (version := interface.get("version", 0)) < 2:
        raise ArgumentError(f"version {version} of __cuda_array_interface__ is not known; 2 and 3 are")
    typestr, descr, strides = interface["typestr"], interface.get("descr"), interface.get("strides")
    structured = typestr[1] == "V" and descr
    address, readonly = interface["data"]
    return Described(
        address=int(address or 0),
        shape=tuple(map(int, interface["shape"])),
        strides=None if strides is None else tuple(map(int, strides)),
        dtype=np.dtype([tuple(field) for field in descr or ()]) if structured else _dtype(typestr),
        writable=not readonly,
    )


@functools.lru_cache(maxsize=256)
def _dtype(typestr: str) -> np.dtype[Any]:
    return np.dtype(typestr)


_handler = CudaArrayInterface()


def _find(python_type: type) -> ArgumentHandler | None:
    return _handler if hasattr(python_type, "__cuda_array_interface__") else None


register_finder(2, _find)
register_attribute("__cuda_array_interface__", _handler)
