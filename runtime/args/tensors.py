"""Tensors with DLPack's C exchange interface as arguments: torch.Tensor, torch.nn.Parameter and similar types.

A tensor that requires a gradient is passed unchanged: kernels read and write its memory, unseen by autograd.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Hashable
from typing import Any

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import ArgType, ArrayType
from gridjit.runtime.args.handler import ArgumentHandler, Parameters, Place, register_finder
from gridjit.runtime.args.interfaces import check_dlpack_device
from gridjit.runtime.memory.dlpack_import import array_in
from gridjit.runtime.memory.dlpack_structures import Tensor, pointer_in
from gridjit.runtime.memory.foreign_array import ForeignArray
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.native import foreign_arrays
from gridjit.runtime.native.foreign_arrays import LazyFlags
from gridjit.runtime.native.layout.probes import peek, word_at
from gridjit.runtime.native.operation import Operation

_CAPSULE = b"dlpack_exchange_api"
_TO_TENSOR = 40  # offset of dltensor_from_py_object_no_sync in DLPack 1.3's DLPackExchangeAPI
_MAX_NDIM = 32
_COMPLEX = 5

Export = Callable[[Any, Any], int]


class ExchangedTensor:
    """A tensor of a type that offers the exchange interface."""

    def __init__(self, python_type: type, address: int) -> None:
        self.python_type = python_type
        self.address = address
        self._export: Export = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(address)

    def kind(self, value: Any) -> Hashable:
        tensor = self._tensor(value)
        return (ExchangedTensor, tensor.device_type, tensor.device_id, array_in(tensor).kind)

    def type_of(self, value: Any, place: Place) -> ArrayType:
        tensor = self._tensor(value)
        check_dlpack_device(value, tensor.device_type, tensor.device_id, place)
        return self._array(value, tensor).type

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        if transfer.space is None:
            transfer.use_in_place()
        return self._array(value, self._tensor(value)).parameters

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        tensor = self._tensor(value)
        flags = lazy_flags(type(value).__module__.partition(".")[0])
        unsure = flags is None and (tensor.code == _COMPLEX or type(value).__module__.startswith("torch"))
        if unsure or tensor.ndim > _MAX_NDIM or not isinstance(declared, ArrayType):
            return None
        layout = array_in(tensor).layout
        return foreign_arrays.TensorByExchange(
            python_type=type(value),
            size=struct.calcsize("@" + declared.codes),
            export=self.address,
            device=(tensor.device_type, tensor.device_id),
            item=(tensor.code, tensor.bits, tensor.lanes),
            ndim=tensor.ndim,
            itemsize=layout.itemsize,
            layout="any" if declared.layout == "A" and layout.letter != "A" else layout.letter,
            flags=flags,
        )

    def _tensor(self, value: Any) -> Tensor:
        tensor = Tensor()
        try:
            code = self._export(value, ctypes.addressof(tensor))
        except (RuntimeError, ValueError, TypeError, BufferError, NotImplementedError) as error:
            raise ArgumentError(
                f"{a_class(type(value))} does not have memory that a kernel can use: {error}"
            ) from error
        if code != 0:
            raise ArgumentError(f"{a_class(type(value))} does not have memory that a kernel can use")
        return tensor

    def _array(self, value: Any, tensor: Tensor) -> ForeignArray:
        for lazy, what in (
            ("is_conj", "conjugated; pass x.resolve_conj()"),
            ("is_neg", "negated; pass x.resolve_neg()"),
        ):
            if getattr(value, lazy, bool)():
                raise ArgumentError(f"{a_class(type(value))} is lazily {what}")
        return array_in(tensor)


@functools.cache
def lazy_flags(package: str) -> LazyFlags | None:
    """Return the place of the flags of lazily conjugated or negated torch tensors, or None if unknown.

    Found by comparing such tensors with plain tensors.
    """
    if package != "torch":
        return None
    import importlib

    torch: Any = importlib.import_module("torch")
    real, other = torch.empty(1), torch.empty(1)
    number = torch.empty(1, dtype=torch.complex64)
    samples = ((real, other, real._neg_view()), (number, torch.empty(1, dtype=torch.complex64), number.conj()))
    found = [_flag_places(*sample) for sample in samples]
    common = {place[:2] for place in found[0]} & {place[:2] for place in found[1]}
    if len(common) != 1:
        return None
    ((implementation, word),) = common
    bits = [bit for sample in found for *place, bit in sample if tuple(place) in common]
    return LazyFlags(implementation=implementation, word=word, bits=functools.reduce(int.__or__, bits))


def _flag_places(plain: Any, alike: Any, flagged: Any) -> set[tuple[int, int, int]]:
    """Return (pointer's offset, word's offset, bit) for words that differ in one bit only."""
    found = set()
    objects = (plain, alike, flagged)
    for at in range(object.__basicsize__, type(plain).__basicsize__ - 7, 8):
        blocks = [peek(word_at(id(value) + at), 256) for value in objects]
        if any(block is None or len(block) != 256 for block in blocks):
            continue
        rows = zip(*(struct.unpack("32Q", block) for block in blocks if block is not None), strict=True)
        for index, (first, second, third) in enumerate(rows):
            bit = first ^ third
            if first == second and bit and bit & (bit - 1) == 0 and third & bit:
                found.add((at, index * 8, bit))
    return found


def _find(python_type: type) -> ArgumentHandler | None:
    capsule = getattr(python_type, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    interface = pointer_in(id(capsule), _CAPSULE)
    if not interface or ctypes.c_uint32.from_address(interface).value != 1:
        return None
    address = word_at(interface + _TO_TENSOR)
    return ExchangedTensor(python_type, address) if address else None


register_finder(1, _find)
