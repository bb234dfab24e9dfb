"""A dtype's fields can be renamed in place: kernels read the field that has the name when they are launched."""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")


def first_field(x, out):
    out[0] = x[0].a


def first_nested(x, out):
    out[0] = x[0].pair.a


def first_of_one(x, out):
    out[0] = x.a


def pairs() -> Any:
    """Records of a = 3 and b = 7."""
    made = np.zeros(2, [("a", np.int32), ("b", np.int32)])
    made["a"], made["b"] = 3, 7
    return made


def nested() -> Any:
    """Records that hold such records."""
    made = np.zeros(2, [("pair", pairs().dtype), ("more", np.int8)])
    made["pair"] = pairs()
    return made


def exchanged(dtype: np.dtype[Any]) -> None:
    dtype.names = ("b", "a")


def launched(kernel: gridjit.Kernel, argument: Any) -> float:
    """What a kernel writes, launched often enough for machine code to launch it."""
    for _ in range(4):
        out = np.zeros(1)
        kernel[1, 1](argument, out)
    return float(out[0])


CASES: dict[str, tuple[Callable[..., None], Callable[[], Any], Callable[[Any], Any]]] = {
    "an array": (first_field, pairs, lambda records: records),
    "an array of records that hold records": (first_nested, nested, lambda records: records),
    "one record": (first_of_one, pairs, lambda records: records[0]),
}


@pytest.mark.parametrize(("function", "make", "pick"), CASES.values(), ids=CASES)
def test_renamed_fields_are_read_by_their_new_names(
    function: Callable[..., None], make: Callable[[], Any], pick: Callable[[Any], Any]
) -> None:
    kernel, records = gridjit.jit(function), make()
    renamed = records.dtype if make is pairs else records.dtype["pair"]
    assert launched(kernel, pick(records)) == 3
    exchanged(renamed)
    assert launched(kernel, pick(records)) == 7
    renamed.names = ("a", "b")
    assert launched(kernel, pick(records)) == 3
    assert kernel.stats.compiles == 2


def test_records_with_the_old_names_keep_the_code_that_they_had() -> None:
    kernel, renamed, other = gridjit.jit(first_field), pairs(), pairs()
    assert [launched(kernel, records) for records in (renamed, other)] == [3, 3]
    exchanged(renamed.dtype)
    assert [launched(kernel, records) for records in (renamed, other, renamed, other)] == [7, 3, 7, 3]


@pytest.mark.parametrize("make", [pairs, nested])
def test_an_array_on_the_device_keeps_its_names_whoever_renames_what_it_was_made_of(make: Callable[[], Any]) -> None:
    kernel, records = gridjit.jit(first_field if make is pairs else first_nested), make()
    array = cuda.to_device(records)
    assert launched(kernel, array) == 3
    for dtype in (records.dtype, array.dtype, array.copy_to_host().dtype, array[1:].dtype):
        exchanged(dtype if make is pairs else dtype["pair"])
    assert launched(kernel, array) == 3
    assert launched(kernel, array[:1]) == 3
    assert array.dtype == make().dtype == array.copy_to_host().dtype
    assert launched(kernel, cuda.to_device(records)) == 7
