"""From a call to a launch on the host: kinds of arguments in real kernels, declared signatures, copies to a device."""

from __future__ import annotations

import enum
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.types import numba_arguments, parse_signature
from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.signature import Signature
from tests.runtime.standin import StandInKernel


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 3


Point = namedtuple("Point", "x y")
RECORD = np.dtype([("a", "f4"), ("b", "i8"), ("c", "u1", (2,))], align=True)
PACKED = np.dtype([("a", "f4"), ("b", "i8"), ("c", "u1", (2,))])


def run(function: Any, *args: Any) -> Any:
    out = np.zeros(1)
    gridjit.jit(function, target="host")[1, 1](out, *args)
    return out[0]


def test_a_tuple_arrives_in_the_kernel() -> None:
    def kernel(out, t):
        out[0] = t[0] * 10 + t[1][0] + t[2][1]

    assert run(kernel, (2, np.array([3.0]), (0.25, 0.5))) == 23.5


def test_a_named_tuple_arrives_in_the_kernel() -> None:
    def kernel(out, p):
        out[0] = p.x - p.y

    assert run(kernel, Point(np.int8(5), 1.5)) == 3.5


def test_enum_members_arrive_in_the_kernel() -> None:
    def kernel(out, color, level):
        if color == Color.GREEN:
            out[0] = level + 1

    assert run(kernel, Color.GREEN, Level.LOW) == 4


def test_spans_of_time_arrive_in_the_kernel() -> None:
    def kernel(out, span, spans):
        if span == spans[1]:
            out[0] = 1

    assert run(kernel, np.timedelta64(7, "s"), np.array([1, 7], "m8[s]")) == 1


def test_a_record_arrives_in_the_kernel_and_is_changed_in_place() -> None:
    def kernel(out, record, records):
        out[0] = record.a + records[1].b + records[1].c[1]
        record.b = 77

    records = np.zeros(3, RECORD)
    records[1] = (0.5, 20, (1, 2))
    records[2] = (0.5, 0, (0, 0))
    assert run(kernel, records[2], records) == 22.5
    assert records[2]["b"] == 77


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "values",
    [
        np.arange(12.0).reshape(3, 4),
        np.arange(12.0).reshape(3, 4).T,
        np.arange(24.0).reshape(6, 4)[::2],
        np.arange(12.0).reshape(3, 4)[::-1, ::-1],
        np.broadcast_to(np.arange(4.0), (3, 4)),
        np.frombuffer(b"x" + np.arange(12.0).tobytes(), np.float64, offset=1).reshape(3, 4),
        np.zeros((0, 4)),
    ],
    ids=["C", "F", "strided", "backwards", "broadcast", "misaligned", "empty"],
)
def test_arrays_of_any_layout_are_read_right(values: np.ndarray) -> None:
    def kernel(out, x):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[0] += x[i, j] * (i * 10 + j)

    weights = np.add.outer(np.arange(values.shape[0]) * 10, np.arange(values.shape[1]))
    assert run(kernel, values) == (values * weights).sum()


def test_a_zero_dimensional_array_is_read_and_written() -> None:
    def kernel(out, x):
        out[0] = x[()]
        x[()] = 9

    x = np.array(4.0)
    assert (run(kernel, x), x) == (4, 9)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    "text",
    [
        "void(float32[:], int32)",
        "void(float64[:, ::1], complex64, boolean)",
        "void(UniTuple(int64, 3), Tuple((float32, int8[::1])))",
        "void(CPointer(float32), uint8)",
        "void(NPDatetime('ns'), NPTimedelta('D'))",
    ],
)
def test_signatures_survive_the_way_to_numba_and_back(text: str) -> None:
    signature = parse_signature(text)
    assert parse_signature(numba_arguments(signature)) == signature


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.0),
        Point(1, 2.0),
        Color.RED,
        Level.LOW,
        np.zeros(2, RECORD),
        np.zeros(2, RECORD)[0],
        np.datetime64(1, "us"),
    ],
)
def test_types_of_values_survive_the_way_to_numba_and_back(value: Any) -> None:
    kernel = StandInKernel(arity=1)
    kernel.configured()(value)
    assert parse_signature(numba_arguments(kernel.signatures[0])) == kernel.signatures[0]


def declared(*texts: str) -> StandInKernel:
    signatures = tuple(parse_signature(text) for text in texts)
    return StandInKernel(arity=len(signatures[0].arguments), declared=signatures)


def parameters(kernel: StandInKernel, *args: Any) -> bytes:
    """Return the parameters of a launch, which are the same from Python and from machine code."""
    configured = kernel.configured()
    configured(*args)
    configured(*args)
    first, second = kernel.recorder.launches[-2:]
    assert first.parameters == second.parameters
    return first.parameters


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("int32", 7, np.int32(7)),
        ("int8", -128, np.int8(-128)),
        ("uint16", 65535, np.uint16(65535)),
        ("uint64", 5, np.uint64(5)),
        # As many bits as there are, read with the sign that was declared.
        ("int32", 0xFFFFFFFF, np.int32(-1)),
        ("int32", 2**31, np.int32(-(2**31))),
        ("int8", np.uint8(200), np.int8(-56)),
        ("int64", 2**64 - 1, np.int64(-1)),
        ("uint8", -1, np.uint8(255)),
        ("uint64", -1, np.uint64(2**64 - 1)),
        ("float32", 0.1, np.float32(0.1)),
        ("float32", 16777217, np.float32(16777216)),
        ("float32", 1e300, np.float32(np.inf)),
        ("float16", 1e6, np.float16(np.inf)),
        ("float64", 3, np.float64(3)),
        ("float64", np.float32(1.5), np.float64(1.5)),
        ("int64", np.int16(-3), np.int64(-3)),
        ("int32", True, np.int32(1)),
        ("int32", 3.0, np.int32(3)),
        ("uint8", np.float32(200), np.uint8(200)),
        ("bool", 1, np.True_),
        ("bool", 256, np.True_),
        ("bool", np.int32(0), np.False_),
        ("bool", 0.5, np.True_),
        ("complex64", 1.5, np.complex64(1.5)),
        ("complex64", 1 - 2j, np.complex64(1 - 2j)),
        ("complex128", 2, np.complex128(2)),
    ],
)
def test_numbers_become_what_the_declared_signature_says(text: str, value: Any, expected: Any) -> None:
    kernel = declared(f"void({text})")
    assert parameters(kernel, value) == expected.tobytes()
    assert set(kernel.signatures) == set(kernel.declared)


@pytest.mark.parametrize("array", [np.ones(4, np.float32), np.ones(8, np.float32)[::2]])
def test_arrays_are_taken_for_a_declared_layout_that_covers_them(array: np.ndarray) -> None:
    kernel = declared("void(float32[:])")
    undeclared = StandInKernel(arity=1)
    assert parameters(kernel, array) == parameters(undeclared, array)
    assert set(kernel.signatures) == set(kernel.declared)


def test_the_nearest_declared_signature_is_used() -> None:
    kernel = declared("void(float64)", "void(int32)", "void(int64)")
    for value, wanted in ((1, 2), (1.0, 0), (np.int32(1), 1), (np.uint64(1), 0), (np.float32(1), 0)):
        parameters(kernel, value)
        assert kernel.signatures[-1] == kernel.declared[wanted]


def test_integers_of_the_other_sign_are_taken_as_they_lie_in_memory_if_no_declared_signature_has_them() -> None:
    kernel = declared("void(int32[:], float64)", "void(int16[:], float64)", "void(uint16[:], float32)")
    for dtype, wanted in (("u4", 0), ("i4", 0), ("i2", 1), ("u2", 2)):
        array = np.arange(6, dtype=dtype)
        assert parameters(kernel, array, 1.5)[: 7 * 8] == parameters(StandInKernel(arity=1), array)
        assert kernel.signatures[-1] == kernel.declared[wanted]


def test_declared_signatures_that_fit_equally_well_are_an_error_that_names_them() -> None:
    kernel = declared("(float32, float64)", "(float64, float32)", "(int64, int64)").configured()
    with pytest.raises(TypeError, match="Ambiguous overloading") as caught:
        kernel(1.0, 2.0)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("(float64, float64):")
    assert lines[1:3] == ["(float32, float64) -> none", "(float64, float32) -> none"]
    kernel(np.float32(1), 2.0)


def test_a_signature_that_is_declared_twice_is_not_ambiguous() -> None:
    kernel = declared("(float32,)", "(float32,)")
    assert parameters(kernel, 1.5) == np.float32(1.5).tobytes()


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("text", "good", "bad", "words"),
    [
        ("int32", 1, 2**32, "argument 'a0' of standin: 4294967296 does not fit into the 32 bits of int32"),
        ("int32", 1, -(2**31) - 1, "-2147483649 does not fit into the 32 bits of int32"),
        ("uint8", 1, -129, "-129 does not fit into the 8 bits of uint8, from -128 to 255"),
        ("int32", 1, 1.5, r"argument 'a0' of standin: 1.5 is not a whole number, which int32 takes"),
        ("int32", 1.0, float("nan"), "nan is not a whole number"),
        ("int32", 1, 1j, r"argument 'a0' is complex128, which is not accepted for int32; .* declared for \(int32\)"),
        (
            "float32[::1]",
            np.ones(2, "f4"),
            np.ones(4, "f4")[::2],
            r"float32\[1d A\], which is not accepted for float32\[1d C.*pass numpy.ascontiguousarray\(a0\), "
            r"or declare float32\[:\] as well",
        ),
        ("float32[:]", np.ones(2, "f4"), np.ones(2), r"float64\[1d C\], which .*; pass a0.astype\('float32'\), or"),
        (
            "float32[:]",
            np.ones(2, "f4"),
            np.ones((2, 2), "f4"),
            r"reshape it to 1 dimension, or declare float32\[:, :\]",
        ),
        ("int32[:]", np.ones(2, "i4"), np.ones(2, "u8"), r"uint64\[1d C\], which is not accepted"),
        ("int32[:]", np.ones(2, "i4"), np.ones(2, "f4"), r"float32\[1d C\], which is not accepted"),
        ("float32[:]", np.ones(2, "f4"), np.broadcast_to(np.float32(1), (2,)), r"readonly.*pass a0.copy\(\)"),
    ],
)
def test_what_no_declared_signature_takes_is_an_error(text: str, good: Any, bad: Any, words: str, warm: bool) -> None:
    kernel = declared(f"void({text})")
    configured = kernel.configured()
    if warm:
        configured(good)
        configured(good)
    with pytest.raises(ArgumentError, match=words):
        configured(bad)


def test_signature_texts_are_whole() -> None:
    """Types that differ in anything that compiled code could see differ in their text."""
    values = [Point(1, 2), (1, 2), Color.RED, Level.LOW, np.zeros(1, RECORD), np.zeros(1, PACKED), 1]
    texts = set()
    for value in values:
        kernel = StandInKernel(arity=1)
        kernel.configured()(value)
        texts.add(str(kernel.signatures[0]))
    assert len(texts) == len(values)
    assert isinstance(kernel.signatures[0], Signature)
    assert cuda.jit is gridjit.jit
