"""Operations: each way of reading an argument gives the record that the machine code for it reads."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gridjit.runtime.native import foreign_arrays
from gridjit.runtime.native.foreign_arrays import CupyByFields, CupyFields, LazyFlags, TensorByExchange
from gridjit.runtime.native.layout.launch_records import READS, OperationRecord
from gridjit.runtime.native.operation import (
    BytesInSlot,
    Copied,
    DirectedArray,
    Int,
    IntToDouble,
    IntToFloat,
    Moved,
    NumpyArray,
    NumpyFields,
    OneObject,
    Operation,
    Rounded,
    TrueOrFalse,
    UnsignedInt,
)
from gridjit.runtime.native.readers.all_readers import all_readers

FLOAT32 = np.dtype(np.float32)
KIND = ("a kind",)
TENSOR: dict[str, Any] = {
    "python_type": list,
    "size": 72,
    "export": 0x1234,
    "device": (2, 3),
    "item": (2, 32, 1),
    "ndim": 2,
    "itemsize": 4,
}


class Foreign:
    """What is passed in place of another library's array."""


# An operation, the case of the switch that reads it, and the words of its record that are not 0.
RECORDS: list[tuple[Operation, int, dict[str, int]]] = [
    (Copied(python_type=float, size=8, offset=16), 0, {"type": id(float), "size": 8, "at0": 16}),
    (Rounded(python_type=complex, size=8, offset=24), 1, {"type": id(complex), "size": 8, "at0": 24}),
    (
        Int(python_type=int, size=2, low=-(2**15), high=2**16 - 1),
        2,
        {"type": id(int), "size": 2, "tag": -(2**15), "limit": 2**16 - 1},
    ),
    (
        UnsignedInt(python_type=int, size=8, low=-(2**63), high=2**64 - 1),
        3,
        {"type": id(int), "size": 8, "limit": 1},
    ),
    (UnsignedInt(python_type=int, size=8, low=2**63, high=2**64 - 1), 3, {"type": id(int), "size": 8}),
    (IntToDouble(python_type=int, size=8), 4, {"type": id(int), "size": 8}),
    (IntToFloat(python_type=int, size=4), 5, {"type": id(int), "size": 4}),
    (TrueOrFalse(python_type=bool, size=1), 6, {"type": id(bool), "size": 1}),
    (
        BytesInSlot(python_type=Foreign, size=56, parameters=40, kind=32, holds=KIND),
        7,
        {"type": id(Foreign), "size": 56, "at0": 40, "at1": 32, "tag": id(KIND)},
    ),
    (
        NumpyArray(
            python_type=np.ndarray,
            size=72,
            fields=NumpyFields(data=16, ndim=24, shape=32, strides=40, dtype=56, flags=64),
            dtype=FLOAT32,
            ndim=2,
            itemsize=4,
            mask=0x501,
            flags=0x500,
        ),
        8,
        {
            "type": id(np.ndarray),
            "size": 72,
            "tag": id(FLOAT32),
            "mask": 0x501,
            "limit": 0x500,
            "ndim": 2,
            "itemsize": 4,
            **dict(zip((f"at{i}" for i in range(8)), (16, 64, 56, 24, 32, 40, -1, -1), strict=True)),
        },
    ),
    (
        CupyByFields(
            python_type=Foreign,
            size=72,
            fields=CupyFields(memory=80, dtype=72, contiguous=56, shape=8, strides=32, address=16, device=24),
            dtype=FLOAT32,
            ndim=2,
            itemsize=4,
            contiguous=(False, True),
            device=3,
            item_alignment=4,
        ),
        8,
        {
            "type": id(Foreign),
            "size": 72,
            "tag": id(FLOAT32),
            "mask": 1 << 32 | 1,
            "limit": 1 << 32,
            "ndim": 2,
            "itemsize": 4,
            "layout": 1,
            "call": 3 << 32 | 3,
            **dict(zip((f"at{i}" for i in range(8)), (80, 56, 72, 16, 8, 32, 16, 24), strict=True)),
        },
    ),
    (
        TensorByExchange(**TENSOR, layout="A", flags=None),
        9,
        {
            "type": id(list),
            "size": 72,
            "tag": 3 << 32 | 2,
            "mask": 1 << 16 | 32 << 8 | 2,
            "ndim": 2,
            "itemsize": 4,
            "layout": 2,
            "call": 0x1234,
        },
    ),
    (
        TensorByExchange(**TENSOR, layout="C", flags=LazyFlags(implementation=16, word=88, bits=-(2**63))),
        9,
        {
            "type": id(list),
            "size": 72,
            "tag": 3 << 32 | 2,
            "mask": 1 << 16 | 32 << 8 | 2,
            "limit": -(2**63),
            "ndim": 2,
            "itemsize": 4,
            "call": 0x1234,
            "at0": 16,
            "at1": 88,
        },
    ),
    (OneObject(python_type=tuple, size=8, value=KIND), 11, {"type": id(tuple), "size": 8, "tag": id(KIND)}),
    (
        DirectedArray(
            python_type=list,
            size=64,
            fields=NumpyFields(data=16, ndim=24, shape=32, strides=40, dtype=56, flags=64),
            dtype=FLOAT32,
            ndim=1,
            itemsize=4,
            mask=0x501,
            flags=0x501,
            array=72,
            asynchronous=80,
            array_type=np.ndarray,
            moved=Moved(reads=True, writes=False),
        ),
        12,
        {
            "type": id(list),
            "size": 64,
            "tag": id(FLOAT32),
            "mask": 0x501,
            "limit": 0x501,
            "ndim": 1,
            "itemsize": 4,
            **dict(zip([f"at{index}" for index in range(10)], (16, 64, 56, 24, 32, 40, -1, 72, 80), strict=False)),
            "at9": id(np.ndarray),
        },
    ),
]


@pytest.mark.parametrize(("operation", "number", "words"), RECORDS, ids=lambda given: type(given).__name__)
def test_each_way_of_reading_says_in_its_record_what_its_reader_reads(
    operation: Operation, number: int, words: dict[str, int]
) -> None:
    record = operation.record()
    found = {name: getattr(record, name) for name, *_ in OperationRecord._fields_}
    assert found == {name: words.get(name, 0) for name in found} | {"read": number}


def test_a_flag_in_the_topmost_bit_is_a_flag_like_any_other() -> None:
    records = [
        TensorByExchange(**TENSOR, layout="C", flags=LazyFlags(implementation=16, word=88, bits=bits)).record()
        for bits in (2**63, -(2**63))
    ]
    assert bytes(records[0]) == bytes(records[1])


def classes(of: type[Operation]) -> Iterator[type[Operation]]:
    for one in of.__subclasses__():
        yield one
        yield from classes(one)


def test_each_way_of_reading_is_in_the_table_here_and_in_machine_code() -> None:
    found = {one for one in classes(Operation) if one.__module__.startswith("gridjit.") and "read" in vars(one)}
    assert found == {type(operation) for operation, _, _ in RECORDS}
    assert {one.read for one in found} | {"ignored"} == set(READS)
    text = all_readers()
    assert all(f"@read_{read}(" in text for read in READS)
    assert foreign_arrays.CupyByFields.read == NumpyArray.read


def test_an_operation_keeps_alive_what_its_record_names() -> None:
    class Number(float):
        pass

    class Item:
        pass

    item = Item()
    watched: list[Callable[[], object]] = [weakref.ref(Number), weakref.ref(item)]
    operation: Operation | None = OneObject(python_type=Number, size=8, value=item)
    del Number, item
    gc.collect()
    assert all(watch() is not None for watch in watched)
    del operation
    gc.collect()
    assert all(watch() is None for watch in watched)


def test_a_record_has_the_layout_that_compiled_functions_were_made_for() -> None:
    places = {name: getattr(OperationRecord, name).offset for name, *_ in OperationRecord._fields_}
    expected = {"read": 0, "offset": 4, "type": 8, "size": 16, "tag": 24, "mask": 32, "limit": 40, "itemsize": 48}
    expected |= {"ndim": 56, "layout": 60, "call": 64} | {f"at{index}": 72 + 8 * index for index in range(10)}
    assert (places, ctypes.sizeof(OperationRecord)) == (expected, 152)
