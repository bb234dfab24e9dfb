"""ForeignArray: an array in another owner's memory, read from the two array interfaces.

Protocols: numba.readthedocs.io, "CUDA Array Interface", versions 2 and 3; numpy.org, "The array interface protocol".
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import identity, item_type
from gridjit.compiler.values.signature import ArrayType
from gridjit.runtime.memory.layout import StridedLayout
from gridjit.runtime.queues.streams import LEGACY

Interface = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignArray:
    """An array: its first item's address, its items' type, and their layout.

    strides: in bytes, None if it is C-contiguous. writable: whether kernels may write it. stream: the handle of the
    stream to wait for, None if there is nothing to wait for.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    writable: bool = True
    stream: int | None = None

    @property
    def layout(self) -> StridedLayout:
        """Its items' layout."""
        dtype = self.dtype
        return _facts(self.shape, self.strides, dtype.itemsize, dtype.alignment)[0]

    @property
    def kind(self) -> Hashable:
        """The key of its type."""
        _, letter, aligned = self._facts
        return (*identity(self.dtype), len(self.shape), letter, aligned, self.writable)

    @property
    def type(self) -> ArrayType:
        """The type for the compiler."""
        _, letter, aligned = self._facts
        dtype, ndim = item_type(self.dtype), len(self.shape)
        return ArrayType(dtype=dtype, ndim=ndim, layout=letter, readonly=not self.writable, aligned=aligned)

    @property
    def parameters(self) -> Sequence[int]:
        """The parameters of a launch, in numba's order."""
        dtype = self.dtype
        return _facts(self.shape, self.strides, dtype.itemsize, dtype.alignment)[0].parameters(self.address)

    @property
    def _facts(self) -> tuple[StridedLayout, str, bool]:
        """The layout, its letter, and whether the items are aligned."""
        step = self.dtype.alignment
        layout, letter, aligned = _facts(self.shape, self.strides, self.dtype.itemsize, step)
        return layout, letter, aligned and (self.address % step == 0 or 0 in self.shape)


# A program passes the same few layouts again and again.
@functools.lru_cache(maxsize=1024)
def _facts(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int, step: int
) -> tuple[StridedLayout, str, bool]:
    """Return a layout, its letter, and whether its items are aligned if the first one is."""
    if strides is None and 0 in shape:
        # As in machine code, so that all launches pass the same strides.
        strides = tuple(itertools.accumulate(shape[:0:-1], operator.mul, initial=itemsize))[::-1]
    if strides is None:
        layout = StridedLayout.dense(shape, itemsize)
    else:
        layout = StridedLayout(shape, itemsize=itemsize, strides_in_bytes=strides)
    return layout, layout.letter, layout.has_steps_of(step)


def read_interface(interface: Interface, name: str = "__cuda_array_interface__") -> ForeignArray:
    """Return the array in the array interface of that name; raises ArgumentError if kernels cannot use it.

    The stream counts in any version, as waiting is never wrong; 0, which the protocol forbids as it may mean two, is
    the legacy default stream. An array without items may have no address.
    """
    try:
        return _read(interface, name)
    except ArgumentError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ArgumentError(
            f"{name} is {interface!r}, which does not follow the protocol: {_said(error)}; have its producer "
            "correct it, or give a NumPy array"
        ) from error


def _said(error: Exception) -> str:
    """Return an error's message, in one line."""
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def _read(interface: Interface, name: str) -> ForeignArray:
    if interface.get("mask") is not None:
        raise ArgumentError("a masked array cannot be passed to a kernel; pass its data and its mask")
    if (version := interface.get("version", 0)) < 2:
        raise ArgumentError(f"version {version} of {name} is not supported; 2 and 3 are")
    address, readonly = interface["data"]
    typestr, strides, stream = interface["typestr"], interface.get("strides"), interface.get("stream")
    shape = tuple(map(operator.index, interface["shape"]))
    refuse_nowhere(address, shape)
    return ForeignArray(
        address=operator.index(address or 0),
        shape=shape,
        strides=None if strides is None else tuple(map(operator.index, strides)),
        dtype=_dtype(typestr) if typestr[1] != "V" else _record_dtype(typestr, interface.get("descr")),
        writable=not readonly,
        stream=None if stream is None else _stream(stream) or LEGACY,
    )


def _stream(given: Any) -> int:
    if (handle := operator.index(given)) < 0:
        raise ArgumentError(f"stream {handle} is not a handle; give 1 for the default stream")
    return handle


def refuse_nowhere(address: int | None, shape: tuple[int, ...]) -> None:
    """Raise ArgumentError for an array that has items but no memory, which a kernel would fault on."""
    if address and not 0 < address < 1 << 64:
        raise ArgumentError(f"an array at address {address:#x} has no memory: addresses are from 0 to 2**64")
    if not address and 0 not in shape:
        raise ArgumentError(
            f"an array of shape {shape} at address 0 has no memory; only one without items may have none"
        )


@functools.lru_cache(maxsize=256)
def _dtype(typestr: str) -> np.dtype[Any]:
    return np.dtype(typestr)


def _record_dtype(typestr: str, descr: Sequence[Any] | None) -> np.dtype[Any]:
    """Return the type of records, whose padding is not a field; without fields, the type of opaque bytes."""
    fields = [tuple(field) for field in descr or ()]
    if fields and all(name and isinstance(item, str) for name, item, *_ in fields):
        return np.dtype(fields)
    # This knows padding, also of nested records; it is slow.
    described = np.lib.format.descr_to_dtype(fields)
    return described if described.names else _dtype(typestr)
