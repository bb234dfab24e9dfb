"""Operations that read other libraries' arrays: CuPy's, in their fields; tensors, by DLPack's exchange function.

The file is loaded with the first of these arrays. Operations of every program are in operation.py.
"""

from __future__ import annotations

import struct

from gridjit.base.values import dataclass
from gridjit.runtime.native.layout.launch_records import OperationRecord
from gridjit.runtime.native.operation import Operation, record_of

# How the reader of tensors numbers layouts; "any" is not looked at.
_LAYOUTS = {"C": 0, "F": 1, "A": 2, "any": 3}
# Tells the reader of strided arrays that shape and strides are vectors, and their rank not a number of its own.
_VECTORS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CupyFields:
    """Where an array object keeps its parts, and the object of its memory its own.

    memory, dtype: references. contiguous: a word of two 32-bit truths, C and F. shape, strides: vectors of 64-bit
    numbers, as pointers to begin and end. address, device: in the memory's object, 64 and 32 bits.
    """

    memory: int
    dtype: int
    contiguous: int
    shape: int
    strides: int
    address: int
    device: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CupyByFields(Operation):
    """A CuPy array with this dtype object, rank and (C, F) contiguity, whose memory is on the device of this number.

    item_alignment: the power of two that its address and strides must be multiples of.
    """

    fields: CupyFields
    dtype: object
    ndim: int
    itemsize: int
    contiguous: tuple[bool, bool]
    device: int
    item_alignment: int

    read = "strided"

    def record(self) -> OperationRecord:
        at, end_of_shape = self.fields, self.fields.shape + 8
        return record_of(
            self,
            at=(at.memory, at.contiguous, at.dtype, end_of_shape, at.shape, at.strides, at.address, at.device),
            tag=id(self.dtype),
            mask=_word("ii", 1, 1),
            limit=_word("ii", *self.contiguous),
            ndim=self.ndim,
            itemsize=self.itemsize,
            layout=_VECTORS,
            call=_word("iI", self.device, self.item_alignment - 1),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyFlags:
    """Flags by which a tensor says that its values differ from its memory.

    implementation: offset in the object of the pointer to its implementation. word: offset there of a word of flags.
    bits: the flags that must not be set there.
    """

    implementation: int
    word: int
    bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorByExchange(Operation):
    """A tensor that a DLPack exchange function (its address) describes with this device, item type, rank and layout.

    device: DLPack's (type, number). item: its (code, bits, lanes). layout: "C", "F", "A", or "any" for all.
    flags: which say that it is not to be read, None if no tensor of its type has them.
    """

    export: int
    device: tuple[int, int]
    item: tuple[int, int, int]
    ndim: int
    itemsize: int
    layout: str
    flags: LazyFlags | None

    read = "dlpack"

    def record(self) -> OperationRecord:
        flags = self.flags
        return record_of(
            self,
            at=(flags.implementation, flags.word) if flags else (),
            tag=_word("ii", *self.device),
            mask=_word("BBHi", *self.item, 0),
            limit=flags.bits if flags else 0,
            ndim=self.ndim,
            itemsize=self.itemsize,
            layout=_LAYOUTS[self.layout],
            call=self.export,
        )


def _word(codes: str, *parts: int) -> int:
    """Return the parts, packed as C would, as one word of 64 bits."""
    (word,) = struct.unpack("q", struct.pack(codes, *parts))
    return int(word)
