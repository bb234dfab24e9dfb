"""Texts of values differ exactly where a compiler can tell the values apart."""

from __future__ import annotations

import enum
import logging
import math
import operator
import struct
from collections import namedtuple
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest

from gridjit.compiler.key.fingerprint import fingerprint
from gridjit.compiler.key.foreign import DESCRIBED
from gridjit.compiler.key.values import FOREIGN, Visit, value_text
from gridjit.compiler.source.objects import OpaqueValue

Point = namedtuple("Point", "x y")
Pixel = namedtuple("Pixel", "x y")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


def text(value: object) -> str:
    return value_text(value, Visit())


def nan(payload: int) -> float:
    (value,) = struct.unpack(">d", struct.pack(">Q", 0x7FF8000000000000 | payload))
    assert isinstance(value, float)
    return value


class Area(np.float64):
    pass


class Length(np.float64):
    pass


class Named(namedtuple("Named", "x y")):
    pass


class Log(logging.Logger):
    pass


def tagged(value: Any, tile: int) -> object:
    """Return value with an attribute that a program set on it."""
    value.tile = tile
    return value


TILED = {tile: np.dtype("i4", metadata={"tile": tile}) for tile in (3, 4)}
BIG = np.arange(300_000, dtype=np.int64)
CHANGED = BIG.copy()
CHANGED[123_456] = -1
RECORD = np.dtype([("x", "f4"), ("y", "i4")])

DIFFERENT: list[tuple[object, object]] = [
    (1, True),
    (1, 1.0),
    (1.0, 1 + 0j),
    (0.0, -0.0),
    (complex(0.0, 0.0), complex(0.0, -0.0)),
    (complex(0.0, 0.0), complex(-0.0, 0.0)),
    (nan(0), nan(1)),
    (nan(0), -nan(0)),
    (10**30, 10**30 + 1),
    (2**64, -(2**64)),
    ("1", 1),
    ("a", b"a"),
    (b"a", bytearray(b"a")),
    (None, "None"),
    (..., "Ellipsis"),
    ((1, 2), [1, 2]),
    ((1,), 1),
    ((1, 2), (2, 1)),
    (((1,), 2), ((1, 2),)),
    (("a, ", "b"), ("a", " b")),
    ({1, 2}, frozenset({1, 2})),
    ({1}, {True}),
    ({1: 2}, {1: 3}),
    ({1: 2, 3: 4}, {3: 4, 1: 2}),
    (range(3), range(4)),
    (slice(1, 2), slice(1, 3)),
    (Point(1, 2), (1, 2)),
    (Point(1, 2), Pixel(1, 2)),
    (Color.RED, Color.BLUE),
    (Color.RED, 1),
    (Access.READ, Access.READ | Access.WRITE),
    (partial(math.sqrt, 1), partial(math.sqrt, 2)),
    (partial(max, key=1), partial(max, key=2)),
    (math.sqrt, math.sin),
    (operator.add, operator.sub),
    (len, max),
    (int, float),
    ("a".upper, "b".upper),
    (str.upper, str.lower),
    (np.float32(1), np.float64(1)),
    (np.float64(1), 1.0),
    (np.float32(0.0), np.float32(-0.0)),
    (np.int32(1), np.int64(1)),
    (np.bool_(True), True),
    (np.datetime64(1, "s"), np.datetime64(1, "ms")),
    (np.zeros((), RECORD)[()], np.ones((), RECORD)[()]),
    (np.float32, np.float64),
    (np.dtype("f4"), np.dtype(">f4")),
    (RECORD, np.dtype([("x", "f4"), ("z", "i4")])),
    (RECORD, np.dtype([("x", "f4"), ("y", "i4")], align=True)),
    (np.add, np.subtract),
    (np.zeros(3), np.zeros(4)),
    (np.zeros(4), np.zeros((2, 2))),
    (np.zeros(2, "f4"), np.zeros(1, "f8")),
    (np.zeros((2, 3)), np.zeros((2, 3), order="F")),
    (np.zeros(()), np.zeros(1)),
    (np.zeros((0, 2)), np.zeros((2, 0))),
    (np.zeros(2, RECORD), np.ones(2, RECORD)),
    (np.zeros(4)[::2], np.zeros(2)),
    (np.arange(6).reshape(2, 3).T, np.arange(6).reshape(3, 2, order="C")),
    (np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2), np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2) + 1),
    (BIG, CHANGED),
    (np.dtype("i4", metadata={"tile": 3}), np.dtype("i4", metadata={"tile": 4})),
    (np.dtype("i4", metadata={"tile": 3}), np.dtype("i4")),
    (np.dtype([("x", TILED[3])]), np.dtype([("x", TILED[4])])),
    (np.dtype([("x", TILED[3], (2,))]), np.dtype([("x", TILED[4], (2,))])),
    (np.zeros(1, TILED[3]), np.zeros(1, TILED[4])),
    (np.dtype([("r", RECORD)]), np.dtype([("r", np.dtype(RECORD.descr, align=True))])),
    (np.dtype(np.longlong), np.dtype(np.int64)),
    (np.longlong(1), np.int64(1)),
    (np.zeros(1, np.ulonglong), np.zeros(1, np.uint64)),
    (Area(1), np.float64(1)),
    (Area(1), Length(1)),
    (tagged(Area(1), 3), tagged(Area(1), 4)),
    (tagged(Named(1, 2), 3), tagged(Named(1, 2), 4)),
    (Annotated[int, 3], Annotated[int, 4]),
    (Annotated[int, 3], Annotated[int, 3, 4]),
    (Log("log"), logging.Logger("log")),
    (tagged(logging.Logger("log"), 3), tagged(logging.Logger("log"), 4)),
    (tagged(Log("log"), 3), tagged(Log("log"), 4)),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_values_that_a_compiler_tells_apart_have_different_texts(one: object, other: object) -> None:
    assert text(one) != text(other)


SAME: list[tuple[object, object]] = [
    ({"a", "b", "c", 1}, {1, "c", "b", "a"}),
    (frozenset("abc"), frozenset("cba")),
    (nan(0), nan(0)),
    (np.zeros(4)[::2], np.zeros(8)[::4]),
    (BIG, BIG.copy()),
    (np.zeros(2, RECORD), np.zeros(2, RECORD)),
    (np.array(["a", "b"]), np.array(["a", "b"])),
    (np.array([1, 2], "M8[s]"), np.array([1, 2], "M8[s]")),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=range(len(SAME)))
def test_values_that_no_compiler_tells_apart_have_equal_texts(one: object, other: object) -> None:
    assert text(one) == text(other)


class Model:
    def __repr__(self) -> str:
        return "1"


class Count(int):
    pass


OPAQUE = [
    Model(),
    Count(1),
    [1, {"a": Model()}],
    SimpleNamespace(x=Model()),
    object(),
    Model().__repr__,
    [Model()].append,
    np.array([Model()]),
    np.ma.masked_array([1, 2], [True, False]),
    np.frompyfunc(abs, 1, 1),
]


@pytest.mark.parametrize("value", OPAQUE, ids=lambda value: type(value).__name__)
def test_values_that_hide_what_they_are_are_refused(value: object) -> None:
    with pytest.raises(OpaqueValue):
        text(value)


def test_an_array_is_read_again_after_a_write() -> None:
    array = np.zeros(1000)
    before = text(array)
    array[-1] = 1
    assert text(array) != before


def test_a_read_only_view_of_a_writeable_array_is_read_again() -> None:
    base = np.zeros(1000)
    view = base[:]
    view.flags.writeable = False
    before = text(view)
    assert text(view) == before
    base[0] = 1
    assert text(view) != before


def test_an_array_that_was_made_writeable_is_read_again() -> None:
    array = np.zeros(1000)
    array.flags.writeable = False
    before = text(array)
    array.flags.writeable = True
    array[0] = 1
    changed = text(array)
    assert changed != before
    assert changed.split()[-1] != before.split()[-1]


def test_read_only_and_writeable_arrays_differ() -> None:
    array = np.zeros(3)
    before = text(array)
    array.flags.writeable = False
    assert text(array) != before


class Table:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def __gridjit_fingerprint__(self) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_an_object_may_say_what_it_is() -> None:
    assert text(Table("one")) == text(Table("one"))
    assert text(Table("one")) != text(Table("two"))
    assert text([Table("one")]) == f"[{text(Table('one'))}, ]"


def test_an_object_that_fails_to_say_what_it_is_is_refused_with_the_reason() -> None:
    with pytest.raises(OpaqueValue, match="is a Table object, whose __gridjit_fingerprint__ raised ValueError: gone"):
        text(Table(ValueError("gone")))
    with pytest.raises(OpaqueValue, match="is a Table object, whose __gridjit_fingerprint__ returned int, not str"):
        text(Table(3))


def test_long_values_are_shown_by_their_beginning_and_a_digest() -> None:
    def kernel_for(table: list[int]) -> Callable[[Any], None]:
        def kernel(a: Any) -> None:
            a[0] = table[0]

        return kernel

    one, other = (fingerprint(kernel_for([0] * 1000 + [last])) for last in (1, 2))
    shown = [value for label, value in one.parts if label.startswith("closure table")]
    assert len(shown) == 1 and shown[0].startswith("[0, 0, ") and len(shown[0]) < 200
    assert one != other


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.setflags(write=False)
    return array


def write_through_a_view(array: np.ndarray[Any, Any], view: np.ndarray[Any, Any]) -> None:
    view[0] = 7


def write_again(array: np.ndarray[Any, Any], _: object) -> None:
    array.setflags(write=True)
    array[0] = 7
    array.setflags(write=False)


@pytest.mark.parametrize("change", [write_through_a_view, write_again])
def test_a_read_only_array_counts_by_what_it_holds_now(change: Callable[[Any, Any], None]) -> None:
    array = np.zeros(3)
    view = array[:]
    before = text(frozen(array))
    assert text(array) == before
    change(array, view)
    assert text(array) != before


def test_an_array_over_bytes_counts_by_its_shape_as_it_is_now() -> None:
    array = np.frombuffer(bytes(range(6)), np.uint8)
    before = text(array)
    assert text(array) == before
    array.shape = (2, 3)
    assert text(array) != before


def test_strides_of_extents_of_one_count_as_a_kernel_may_read_them() -> None:
    one, other = np.zeros((4, 3))[:1], np.zeros((4, 6))[:1, :3]
    assert one.flags.c_contiguous and other.flags.c_contiguous and one.strides != other.strides
    assert text(one) != text(other)
    assert text(one) == text(np.zeros((1, 3)))


def test_every_described_class_of_another_library_is_looked_up() -> None:
    assert {module.partition(".")[0] for module, _ in DESCRIBED} == FOREIGN


def test_callables_in_annotations_differ_by_their_types() -> None:
    assert text(Callable[[int], str]) == text(Callable[[int], str]) != text(Callable[[str], str])
