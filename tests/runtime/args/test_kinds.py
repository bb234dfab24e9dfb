"""Every kind of argument: the type a kernel is compiled for, and equal parameters from Python and from machine code."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import enum
import os
import struct
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.direction import In, InOut, Out
from gridjit.runtime.args.handler import Place
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.dlpack_import import array_in
from gridjit.runtime.memory.dlpack_structures import Tensor
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import Launched, StandInKernel


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 3


class Planet(enum.Enum):
    VENUS = (4.869e24, 6.0518e6)
    EARTH = (5.976e24, 6.37814e6)


Point = namedtuple("Point", "x y")
RECORD = np.dtype([("a", "f4"), ("b", "i8"), ("c", "u1", (2, 3)), ("d", [("x", "f8")])], align=True)
BUFFER = np.arange(24, dtype=np.float32)
READ_ONLY = BUFFER.view()
READ_ONLY.flags.writeable = False
MATRIX = BUFFER.reshape(4, 6)


def readonly(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def array(values: np.ndarray) -> bytes:
    """Return the parameters of an array, as numba lays it out."""
    address = values.__array_interface__["data"][0]
    parts = (0, 0, values.size, values.itemsize, address, *values.shape, *values.strides)
    return struct.pack(f"@PPqqP{2 * values.ndim}q", *parts)


def own(values: np.ndarray) -> Any:
    return to_device(values, space=HOST_SPACE)


@dataclass(frozen=True)
class Row:
    """A value, its type's text, its parameters, and whether it is launched natively."""

    value: Any
    type: str
    parameters: bytes | Callable[[Any], bytes]
    native: bool = True


ROWS = {
    "bool": Row(True, "bool", b"\x01"),
    "int": Row(-5, "int64", struct.pack("q", -5)),
    "large int": Row(2**64 - 1, "uint64", b"\xff" * 8),
    "float": Row(-0.0, "float64", struct.pack("d", -0.0)),
    "complex": Row(1 - 2j, "complex128", struct.pack("dd", 1, -2)),
    **{
        name: Row(np.dtype(name).type(3), name, np.array(3, name).tobytes())
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32")
    },
    "numpy bool": Row(np.True_, "bool", b"\x01"),
    "float64": Row(np.float64(0.1), "float64", struct.pack("d", 0.1)),
    "complex64": Row(np.complex64(1 + 2j), "complex64", struct.pack("ff", 1, 2)),
    "numpy complex128": Row(np.complex128(1 + 2j), "complex128", struct.pack("dd", 1, 2)),
    "datetime64": Row(np.datetime64(77, "ns"), "datetime64[ns]", struct.pack("q", 77), native=False),
    "timedelta64": Row(np.timedelta64(-7, "D"), "timedelta64[D]", struct.pack("q", -7), native=False),
    "not a time": Row(np.datetime64("NaT", "s"), "datetime64[s]", struct.pack("q", -(2**63)), native=False),
    "array": Row(MATRIX, "float32[2d C]", array),
    "array, 1-D": Row(BUFFER, "float32[1d C]", array),
    "array, 0-D": Row(np.array(5.0), "float64[0d C]", array),
    "array, Fortran order": Row(MATRIX.T, "float32[2d F]", array),
    "array, strided": Row(MATRIX[:, ::2], "float32[2d A]", array),
    "array, backwards": Row(BUFFER[::-1], "float32[1d A]", array),
    "array, empty": Row(np.zeros((3, 0, 2), np.int16), "int16[3d C]", array),
    "array, read-only": Row(readonly(np.ones(3)), "float64[1d C, readonly]", array),
    "array, broadcast": Row(np.broadcast_to(np.float32(1), (3, 4)), "float32[2d A, readonly]", array),
    "array, misaligned": Row(np.zeros(17, np.uint8)[1:].view("f8"), "float64[1d C, unaligned]", array),
    "array of bools": Row(np.array([True]), "bool[1d C]", array),
    "array of halves": Row(np.ones(2, np.float16), "float16[1d C]", array),
    "array of complex": Row(np.ones(2, np.complex64), "complex64[1d C]", array),
    "array of dates": Row(np.zeros(2, "M8[us]"), "datetime64[us][1d C]", array),
    "array, overlapping": Row(
        np.lib.stride_tricks.as_strided(np.arange(9.0), (4, 3), (8, 8), writeable=True), "float64[2d A]", array
    ),
    "array of records": Row(
        np.zeros(2, RECORD),
        "record('a': float32 at 0, 'b': int64 at 8, 'c': uint8(2x3) at 16, "
        "'d': record('x': float64 at 0; 8 bytes, aligned) at 24; "
        "32 bytes, aligned)[1d C]",
        array,
    ),
    "array of text": Row(np.array(["a", "bcd"]), "<U3[1d C]", array),
    "array of bytes": Row(np.zeros((2, 2), "S5"), "|S5[2d C]", array),
    "own array of text": Row(own(np.array(["a", "bcd"])), "<U3[1d C]", lambda value: value._parameters),
    "NumPy type": Row(np.float32, "class(float32)", bytes(8)),
    "other NumPy type": Row(np.int64, "class(int64)", bytes(8)),
    "dtype": Row(np.dtype("f4"), "dtype(float32)", bytes(8)),
    "dtype of records": Row(np.dtype([("a", "i4")]), "dtype(record('a': int32 at 0; 4 bytes))", bytes(8)),
    "NumPy type in a tuple": Row((np.int8, 1), "(class(int8),int64,)", struct.pack("@Pq", 0, 1), native=False),
    "own array": Row(own(MATRIX), "float32[2d C]", lambda value: value._parameters),
    "own array, strided": Row(own(MATRIX)[::2, ::-1], "float32[2d A]", lambda value: value._parameters),
    "own array, 0-D": Row(own(np.array(1.5)), "float64[0d C]", lambda value: value._parameters),
    "tuple": Row((1, 2.5), "(int64,float64,)", struct.pack("@qd", 1, 2.5), native=False),
    "tuple, nested": Row(
        (np.int8(1), (2.0, True)), "(int8,(float64,bool,),)", struct.pack("@bd?", 1, 2, True), native=False
    ),
    "tuple, empty": Row((), "()", b"", native=False),
    "named tuple": Row(
        Point(1, BUFFER),
        f"{__name__}.Point(x: int64, y: float32[1d C])",
        struct.pack("q", 1) + array(BUFFER),
        native=False,
    ),
    "enum": Row(Color.GREEN, f"enum {__name__}.Color(int64: RED=1, GREEN=2)", struct.pack("q", 2), native=False),
    "int enum": Row(Level.LOW, f"intenum {__name__}.Level(int64: LOW=3)", struct.pack("q", 3), native=False),
    "enum of tuples": Row(
        Planet.EARTH,
        f"enum {__name__}.Planet((float64,float64,): VENUS=(4.869e+24, 6051800.0), EARTH=(5.976e+24, 6378140.0))",
        struct.pack("dd", 5.976e24, 6.37814e6),
        native=False,
    ),
    "pointer": Row(
        ctypes.cast(0x1234, ctypes.POINTER(ctypes.c_float)), "float32*", struct.pack("P", 0x1234), native=False
    ),
    "void pointer": Row(ctypes.c_void_p(0x99), "void*", struct.pack("P", 0x99), native=False),
    # One that can be written is copied: tests/end_to_end/test_directions.py.
    "In": Row(In(READ_ONLY), "float32[1d C, readonly]", array(READ_ONLY), native=False),
    "Out": Row(Out(BUFFER), "float32[1d C]", array(BUFFER), native=False),
    "InOut": Row(InOut(BUFFER), "float32[1d C]", array(BUFFER), native=False),
}


def launched(*args: Any) -> tuple[StandInKernel, list[Launched]]:
    kernel = StandInKernel(arity=len(args))
    configured = kernel.configured()
    configured(*args)
    configured(*args)
    return kernel, kernel.recorder.launches


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_kind_has_its_type_and_its_parameters_both_ways(row: Row) -> None:
    kernel, (first, second) = launched(row.value)
    assert str(kernel.signatures[0].arguments[0]) == row.type
    expected = row.parameters(row.value) if callable(row.parameters) else row.parameters
    assert first.parameters == second.parameters == expected
    if object_layout() is not None:
        assert second.way == ("native" if row.native else "python")


NATIVE = [row.value for row in ROWS.values() if row.native]


@given(st.lists(st.sampled_from(range(len(NATIVE))), max_size=20))
def test_any_mix_of_arguments_has_equal_parameters_both_ways(indices: list[int]) -> None:
    _, (first, second) = launched(*(NATIVE[index] for index in indices))
    assert first.parameters == second.parameters


@given(
    st.lists(st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(), st.booleans(), st.complex_numbers()), max_size=8)
)
def test_any_numbers_have_equal_parameters_both_ways(values: list[Any]) -> None:
    _, (first, second) = launched(*values)
    assert first.parameters == second.parameters


@pytest.mark.some(15)
@pytest.mark.parametrize("one", range(len(NATIVE)))
def test_a_table_for_one_kind_takes_no_other(one: int) -> None:
    for other, value in enumerate(NATIVE):
        kernel = StandInKernel(arity=1)
        configured = kernel.configured()
        configured(NATIVE[one])
        configured(value)
        expected = StandInKernel(arity=1)
        expected.configured()(value)
        same_type = expected.signatures[0] == kernel.signatures[0]
        assert kernel.recorder.last.parameters == expected.recorder.last.parameters
        assert (kernel.signatures[-1] == expected.signatures[0]) or same_type, (one, other)


@pytest.mark.parametrize("plain", [2.5, 3, 2**63, 1j])
def test_a_derived_number_leaves_plain_ones_to_machine_code(plain: Any) -> None:
    derived = type("Derived", (type(plain),), {})(plain)
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for value in (derived, derived, plain, plain):
        configured(value)
    first, *_, last = kernel.recorder.launches
    assert first.parameters == last.parameters
    assert (first.way, last.way) == ("python", "native" if object_layout() is not None else "python")


def test_a_record_is_passed_by_the_address_of_its_own_memory() -> None:
    records = np.zeros(3, RECORD)
    kernel, (first, second) = launched(records[1])
    address = records.__array_interface__["data"][0] + RECORD.itemsize
    assert first.parameters == second.parameters == struct.pack("P", address)
    assert str(kernel.signatures[0].arguments[0]).startswith("record('a': float32 at 0, ")


class Column:
    """As pandas' and polars' columns: an array can be had of it, and it is not one."""

    def to_numpy(self) -> Any:
        raise AssertionError("nobody asked for it")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("text", r"a str cannot be passed to a kernel; kernels take no texts: .* numpy.array\(\[x\]\)"),
        ({1: 2}, "a dict cannot be passed to a kernel; pass its values as arrays or as a named tuple"),
        ({1}, r"a set cannot be passed to a kernel; .* pass its items as an array, numpy.array\(list\(x\)\)"),
        ((i for i in range(3)), r"a generator cannot be passed .* numpy.array\(list\(x\)\)"),
        (datetime.datetime(2026, 1, 1), r"a datetime.datetime cannot be passed .*; pass numpy.datetime64\(x, 'us'\)"),
        (datetime.timedelta(1), r"a datetime.timedelta cannot be passed .*; pass numpy.timedelta64\(x, 'us'\)"),
        (decimal.Decimal(1), r"a decimal.Decimal cannot be passed to a kernel; pass float\(x\)"),
        (len, "cannot be passed to a kernel; kernels call functions that are globals"),
        (lambda x: x, r"a function cannot be passed .* decorate it with jit\(device=True\)"),
        (np, "a module cannot be passed to a kernel; kernels use modules that are globals"),
        (slice(3), "a slice cannot be passed to a kernel; pass its start, stop and step as numbers"),
        (None, "None cannot be passed to a kernel"),
        ([1, 2], r"a list cannot be passed to a kernel; make an array of it, numpy.array\(x\)"),
        (range(3), r"a range cannot be passed to a kernel; make an array of it"),
        (Column(), r"a .*Column cannot be passed to a kernel; pass its values, x.to_numpy\(\), which may be a copy"),
        (
            np.ma.masked_array([1.0, 2.0], [False, True]),
            r"its mask would be lost; pass x.filled\(value\), or x.data and",
        ),
        (In(np.ma.masked_array([1.0, 2.0])), "its mask would be lost"),
        (2**64, "the int 18446744073709551616 does not fit into 64 bits"),
        (np.array(["a"], ">U1"), r"items of >U1 have a foreign byte order"),
        (np.zeros(2, object), "items of object cannot be passed"),
        (int, r"the class builtins.int cannot be passed to a kernel; of classes, .* such as np.float32"),
        (object(), "an object cannot be passed to a kernel; pass NumPy arrays"),
        (np.floating, "the class numpy.floating cannot be passed"),
        (np.dtype("M8"), "datetime64 without a unit"),
        (np.zeros(2, ">f4"), r"foreign byte order; convert them with astype\('float32'\)"),
        (np.longdouble(1), "a NumPy longdouble|a NumPy float128"),
        (np.zeros(2, np.longdouble), r"have no type on a GPU; convert them with astype\('float64'\)"),
        (np.zeros(2, np.clongdouble), r"have no type on a GPU; convert them with astype\('complex128'\)"),
        ((1, "a"), "a str cannot be passed"),
        (In(In(BUFFER)), "takes an array, not another In"),
        (np.void(b"abc"), "has no fields"),
    ],
)
def test_what_cannot_be_passed_is_an_error_that_names_the_argument(value: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=rf"argument 'a1' of standin: .*(?:{words})"):
        StandInKernel(arity=2).configured()(1, value)


@pytest.mark.filterwarnings("ignore:The 'generic' unit")
def test_a_date_without_a_unit_is_an_error() -> None:
    for value in (np.zeros(2, "M8"), np.datetime64("NaT")):
        with pytest.raises(ArgumentError, match="datetime64 without a unit"):
            StandInKernel(arity=1).configured()(value)


def test_an_enum_with_values_of_several_types_is_refused() -> None:
    class Mixed(enum.Enum):
        A = 1
        B = 2.5

    with pytest.raises(ArgumentError, match="values of several types"):
        StandInKernel(arity=1).configured()(Mixed.A)


class Unit(str, enum.Enum):
    """An enum of texts."""

    METRE = "m"


class Shape(enum.Enum):
    """An enum of texts and numbers."""

    POINT = 1
    LINE = "line"


@pytest.mark.parametrize(("member", "which"), [(Unit.METRE, "Unit"), (Shape.POINT, "Shape"), (Shape.LINE, "Shape")])
def test_an_enum_of_texts_is_named_and_not_called_a_text(member: enum.Enum, which: str) -> None:
    with pytest.raises(ArgumentError, match=rf"the values of the enum {which} are not numbers, .* is a str; pass a"):
        StandInKernel(arity=1).configured()(member)


class OnDevice:
    """An object with __cuda_array_interface__."""

    def __init__(self, **changes: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (0x7000, False),
            "version": 3,
            "strides": None,
            **changes,
        }

    # The protocol is looked for on the type.
    __cuda_array_interface__: dict[str, Any] = {}


CUDA = Place(kind="ptx", ordinal=0)


def on_device(**changes: Any) -> tuple[str, tuple[Any, ...]]:
    from gridjit.runtime.args.handler import handler_of
    from gridjit.runtime.memory.staging import Transfer

    value = OnDevice(**changes)
    handler = handler_of(value)
    return str(handler.type_of(value, CUDA)), tuple(handler.parameters(value, Transfer(None, 0)))


@pytest.mark.parametrize(
    ("changes", "type_", "parameters"),
    [
        ({}, "float32[2d C]", (0, 0, 6, 4, 0x7000, 2, 3, 12, 4)),
        ({"version": 2}, "float32[2d C]", (0, 0, 6, 4, 0x7000, 2, 3, 12, 4)),
        ({"strides": (4, 8)}, "float32[2d F]", (0, 0, 6, 4, 0x7000, 2, 3, 4, 8)),
        ({"strides": (-16, 4)}, "float32[2d A]", (0, 0, 6, 4, 0x7000, 2, 3, -16, 4)),
        ({"strides": (0, 4)}, "float32[2d A]", (0, 0, 6, 4, 0x7000, 2, 3, 0, 4)),
        ({"data": (0x7000, True)}, "float32[2d C, readonly]", (0, 0, 6, 4, 0x7000, 2, 3, 12, 4)),
        ({"data": (0x7001, False)}, "float32[2d C, unaligned]", (0, 0, 6, 4, 0x7001, 2, 3, 12, 4)),
        ({"shape": ()}, "float32[0d C]", (0, 0, 1, 4, 0x7000)),
        (
            {"typestr": "|V8", "descr": [("a", "<f4"), ("b", "<i4")], "shape": (2,)},
            "record('a': float32 at 0, 'b': int32 at 4; 8 bytes)[1d C]",
            (0, 0, 2, 8, 0x7000, 2, 8),
        ),
    ],
)
def test_the_array_interface_is_read_as_its_protocol_says(
    changes: dict[str, Any], type_: str, parameters: tuple[Any, ...]
) -> None:
    assert on_device(**changes) == (type_, parameters)


@pytest.mark.parametrize("data", [(0, False), (None, False)])
def test_an_empty_array_may_have_no_address(data: tuple[Any, bool]) -> None:
    type_, parameters = on_device(shape=(0,), data=data)
    assert (type_, parameters[2], parameters[5:]) == ("float32[1d C]", 0, (0, 4))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask": object()}, "a masked array cannot be passed"),
        ({"version": 1}, "version 1 of __cuda_array_interface__"),
    ],
)
def test_an_interface_that_kernels_cannot_use_is_an_error(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        on_device(**changes)


def test_memory_on_a_device_is_refused_on_the_host_where_there_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "device_count", lambda: 1)
    with pytest.raises(ArgumentError, match=r"has its data on a CUDA device .* copy it to the host first"):
        StandInKernel(arity=1).configured()(OnDevice())


class Exporter:
    """An object with __dlpack__ over a NumPy array."""

    def __init__(self, values: np.ndarray, device: tuple[int, int] = (1, 0), old: bool = False) -> None:
        self.values, self.device, self.old = values, device, old

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: int | None = None, **asked: Any) -> Any:
        if self.old and asked:
            raise TypeError("unexpected keyword max_version")
        return self.values.__dlpack__(**asked)  # NumPy before 2.1 knows no max_version


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("values", [MATRIX, MATRIX.T, MATRIX[:, ::2], np.array(1.5), np.zeros((2, 0)), BUFFER[::-1]])
def test_dlpack_objects_are_passed_as_the_arrays_they_export(values: np.ndarray, old: bool) -> None:
    exported, plain = launched(Exporter(values, old=old)), launched(values)
    assert exported[0].signatures == plain[0].signatures
    mine, expected = (np.frombuffer(launches[0].parameters, np.int64).tolist() for _, launches in (exported, plain))
    # Where nothing is, and how far apart, is nobody's business.
    count = None if values.size else 4
    assert mine[:count] == expected[:count]


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ((2, 1), "on CUDA device 1 cannot be passed to a kernel on the host"),
        ((10, 0), r"DLPack device \(10, 0\)"),
    ],
)
def test_a_tensor_on_another_device_is_an_error(device: tuple[int, int], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        StandInKernel(arity=1).configured()(Exporter(BUFFER, device))


def test_arrays_of_bfloat16_are_passed_as_such() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    values = np.ones((2, 3), bfloat16)
    for value in (values, own(values)):
        kernel, (first, second) = launched(value)
        assert str(kernel.signatures[0].arguments[0]) == "bfloat16[2d C]"
        assert first.parameters == second.parameters
    assert str(launched(bfloat16)[0].signatures[0]) == "(class(bfloat16))"


@pytest.mark.parametrize("installed", [True, False])
def test_a_tensor_of_bfloat16_needs_a_dtype_for_it(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if installed:
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    shape = (ctypes.c_int64 * 1)(3)
    tensor = Tensor(data=0x1000, ndim=1, code=4, bits=16, lanes=1, shape=shape, strides=None)
    if installed:
        assert array_in(tensor).dtype.name == "bfloat16"
    else:
        with pytest.raises(ArgumentError, match="bfloat16 need the package ml_dtypes"):
            array_in(tensor)


def test_a_launch_loads_the_kinds_of_its_own_arguments_only() -> None:
    program = """
import sys
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def copy(x, y, scale):
    y[0] = x[0] * scale

y = np.zeros(1)
copy[1, 1](cuda.to_device(np.ones(1)), y, 2.0)
assert y[0] == 2
loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith("gridjit.runtime.args.")}
print(sorted(loaded & {"device_arrays", "tensors", "cupy", "dlpack", "records", "dates"}))
"""
    environment = os.environ | {"GRIDJIT_TARGET": "host"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("['device_arrays']", "")
