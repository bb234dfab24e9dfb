"""Operation: how the native launch function reads one argument. A frozen value; each way of reading is a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from gridjit.base.values import dataclass
from gridjit.runtime.native.layout.launch_records import READS, OperationRecord

if TYPE_CHECKING:
    from gridjit.runtime.native.layout.probes import FieldNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How a host array is copied for a launch. reads: to the device. writes: back from it."""

    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One argument, of exactly this Python type. Each subclass is one way to read it.

    size, alignment: of its parameters, in bytes. follow: address of a function without arguments that returns the
    stream that the argument's library works in, which must be the launch's own; 0 if it need not be the same.
    moved: how the array is copied for the launch; None if the kernel uses it where it is.
    """

    python_type: type
    size: int
    alignment: int = 8
    follow: int = 0
    moved: Moved | None = None

    read: ClassVar[str]

    def record(self) -> OperationRecord:
        """Return the record that the native function reads; the table adds the offset of the parameters."""
        return record_of(self)


def record_of(operation: Operation, at: Sequence[int] = (), **words: int) -> OperationRecord:
    """Return an operation's record with these words, which its reader knows by name, and offsets in the object."""
    offsets = {f"at{index}": offset for index, offset in enumerate(at)}
    number, python_type = READS.index(operation.read), id(operation.python_type)
    return OperationRecord(read=number, type=python_type, size=operation.size, **words, **offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Operation):
    """A value that lies in the object as it is passed, at an offset: a float, a NumPy scalar."""

    offset: int

    read = "copy"

    def record(self) -> OperationRecord:
        return record_of(self, at=(self.offset,))


class Rounded(Copied):
    """Doubles at an offset in the object, passed as floats."""

    __slots__ = ()
    read = "doubles_to_floats"


class IntToDouble(Operation):
    """A Python int, passed as a double."""

    __slots__ = ()
    read = "int_to_double"


class IntToFloat(Operation):
    """A Python int, passed as a float."""

    __slots__ = ()
    read = "int_to_float"


class TrueOrFalse(Operation):
    """A Python bool, passed as a byte."""

    __slots__ = ()
    read = "bool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Int(Operation):
    """A Python int from low to high, which are numbers of 64 bits with a sign."""

    low: int
    high: int

    read = "int"

    def record(self) -> OperationRecord:
        return record_of(self, tag=self.low, limit=self.high)


class UnsignedInt(Int):
    """A Python int from low to 2**64 - 1: low is 2**63, or -2**63 where negative ones wrap around."""

    __slots__ = ()
    read = "unsigned"

    def record(self) -> OperationRecord:
        return record_of(self, limit=self.low < 2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneObject(Operation):
    """One object and no other; its parameter is a null pointer."""

    value: object

    read = "itself"

    def record(self) -> OperationRecord:
        return record_of(self, tag=id(self.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesInSlot(Operation):
    """The content of a bytes object that the object has in a slot, if another slot of it holds a certain object.

    parameters, kind: offsets of the slots. holds: the object that must be in the second slot.
    """

    parameters: int
    kind: int
    holds: object

    read = "slot"

    def record(self) -> OperationRecord:
        return record_of(self, at=(self.parameters, self.kind), tag=id(self.holds))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumpyFields:
    """Where a NumPy array keeps its parts: offsets in the object. data, shape and strides are pointers."""

    data: int
    ndim: int
    shape: int
    strides: int
    dtype: int
    flags: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumpyArray(Operation):
    """A NumPy array with this dtype object and rank. Its word of flags, masked, must be `flags`.

    names: the names that the dtype's fields, and their fields, must still have; None if it has none.
    """

    fields: NumpyFields
    dtype: object
    names: FieldNames | None = None
    ndim: int
    itemsize: int
    mask: int
    flags: int

    read = "strided"

    def record(self) -> OperationRecord:
        at = self.fields
        return record_of(
            self,
            at=(at.data, at.flags, at.dtype, at.ndim, at.shape, at.strides, -1, -1),
            tag=id(self.dtype),
            mask=self.mask,
            limit=self.flags,
            ndim=self.ndim,
            itemsize=self.itemsize,
            call=self.names.address if self.names else 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectedArray(NumpyArray):
    """A NumPy array held by an In, Out or InOut that a launch waits for.

    array: the slot that has it. asynchronous: the slot that says whether nobody waits. array_type: its type.
    """

    array: int
    asynchronous: int
    array_type: type

    read = "directed"

    def record(self) -> OperationRecord:
        record = NumpyArray.record(self)
        record.at7, record.at8, record.at9 = self.array, self.asynchronous, id(self.array_type)
        return record
