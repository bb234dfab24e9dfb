"""Declared signatures take what numba-cuda takes: its own rules and packing, asked on this machine, are the table."""

from __future__ import annotations

import collections
import ctypes
import enum
import itertools
import random
import struct
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.values.errors import ArgumentError, ConfigError
from gridjit.compiler.values.signature import SCALAR_CODES, Signature
from gridjit.runtime.args.conversion import Conversion, codes_of, conversion, converter, resolve
from gridjit.runtime.args.handler import Place, handler_of

numba_cuda()

from numba.cuda import types  # noqa: E402
from numba.cuda.descriptor import cuda_target  # noqa: E402
from numba.cuda.dispatcher import CUDADispatcher, _Kernel  # noqa: E402
from numba.cuda.np import numpy_support  # noqa: E402
from numba.cuda.typing.typeof import Purpose, typeof  # noqa: E402


class Level(enum.IntEnum):
    LOW = 1


class Color(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")
Reversed = collections.namedtuple("Reversed", "y x")
SHORT = np.dtype([("a", "i4"), ("b", "f8")])
LONG = np.dtype([("a", "i4"), ("b", "f8"), ("c", "f4")])
ALIGNED = np.dtype([("a", "i4"), ("b", "f8")], align=True)
READONLY = np.ones(3, "f4")
READONLY.flags.writeable = False

PYTHONS = [True, 0, 1, -1, 3.0, 3.7, 1e300, -0.0, 65504.0, 65520.0, 1j, 2.5 - 1j, float("nan"), float("inf")]
INTEGERS = [200, 256, 70000, 16777217, 2**31, 2**32 - 1, 2**32, -(2**40), 2**63, 2**64 - 1]
NUMPYS = [np.dtype(name).type(value) for name in SCALAR_CODES for value in (5, 0)]
COMPOUND = [Level.LOW, Color.RED, (1, 2), (1, 2.5), ((1, 2.0), 3), Point(1, 2), Point(1.0, 2.0), ()]
DATES = [np.datetime64(5, "ns"), np.datetime64(5, "us"), np.timedelta64(5, "ns")]
RECORDS = [np.zeros(1, dtype)[0] for dtype in (SHORT, LONG, ALIGNED)]
PLANE = np.ones((3, 4), "f4")
ARRAYS = [
    *(np.ones(3, dtype) for dtype in ("f4", "f8", "i4", "u4", "i8", "u2")),
    *(PLANE, PLANE.T, PLANE[:, ::2], READONLY, np.ones(6, "f4")[::2], np.array(1, "f4")),
]
OTHERS = [None, "ab", np.str_("ab"), np.bytes_(b"ab")]
VALUES = [*PYTHONS, *INTEGERS, *NUMPYS, *COMPOUND, *DATES, *RECORDS, *ARRAYS, *OTHERS]

SCALARS = [types.boolean if name == "bool" else getattr(types, name) for name in SCALAR_CODES]
DECLARED = [
    *SCALARS,
    *(types.NPDatetime("ns"), types.NPDatetime("us"), types.NPTimedelta("ns")),
    *(types.float32[:], types.float32[::1], types.float32[:, :], types.float32[:, ::1], types.float32[::1, :]),
    *(types.Array(types.float32, 1, "C", readonly=True), types.Array(types.float32, 1, "C", aligned=False)),
    *(types.Array(types.float32, 0, "C"), types.Array(types.float32, 1, "F"), types.int32[::1], types.uint32[:]),
    *(types.UniTuple(types.float32, 2), types.Tuple((types.int8, types.float64)), types.UniTuple(types.int64, 3)),
    *(types.Tuple((types.UniTuple(types.float32, 2), types.int32)), types.Tuple(())),
    *(types.NamedUniTuple(kind, 2, Point) for kind in (types.int64, types.float32)),
    types.NamedUniTuple(types.int64, 2, Reversed),
    *(numpy_support.from_struct_dtype(dtype) for dtype in (SHORT, LONG, ALIGNED)),
    *(types.IntEnumMember(Level, types.int64), types.IntEnumMember(Level, types.int8)),
    types.EnumMember(Color, types.int64),
    *(types.voidptr, types.CPointer(types.float32)),
    *(types.optional(types.int32), types.none, types.UnicodeCharSeq(2), types.unicode_type),
]


def of_one(a: Any) -> None:
    """A kernel."""


def of_two(a: Any, b: Any) -> None:
    """A kernel."""


class Packing:
    """numba-cuda's own packing of arguments, without a launch."""

    extensions = ()
    _prepare_args = _Kernel._prepare_args


def numbas_choice(declared: Sequence[tuple[Any, ...]], *values: Any) -> int | str:
    """Return which of several declared signatures numba-cuda's dispatcher takes for values, or what is wrong."""
    dispatcher = CUDADispatcher(of_one if len(values) == 1 else of_two, {"device": False})
    made = [SimpleNamespace(signature=types.void(*one), objectmode=False, entry_point=None) for one in declared]
    for one, kernel in zip(declared, made, strict=True):
        dispatcher.add_overload(kernel, one)
    dispatcher.disable_compile()
    try:
        return made.index(dispatcher._cuda_call(*values, __numba_cuda_launch_config__=None))
    except Exception as error:  # of many classes, for values without a type
        return "ambiguous" if "Ambiguous" in str(error) else "none"


def numbas_bytes(declared: Any, value: Any) -> bytes | None:
    """Return what numba-cuda packs for a declared type, None if it cannot."""
    parts: list[Any] = []
    try:
        Packing()._prepare_args(declared, value, 0, [], parts)
    except Exception:  # ctypes', NumPy's and numba's own
        return None
    return b"".join(bytes(part) if isinstance(part, ctypes._SimpleCData) else _raw(declared, part) for part in parts)


def _raw(declared: Any, part: Any) -> bytes:
    """Return what the driver gets of a value that numba-cuda leaves as it is: a boolean, or an address."""
    if isinstance(declared, types.CPointer) and isinstance(part, int | np.integer):
        return struct.pack("@q", (int(part) + 2**63) % 2**64 - 2**63)
    return bytes([bool(part)])


def type_of(value: Any) -> Any:
    return handler_of(value).type_of(value, Place())


def our_choice(declared: Sequence[tuple[Any, ...]], *values: Any) -> int | str:
    signatures = [parse_signature(types.void(*one)) for one in declared]
    try:
        given = Signature(arguments=tuple(type_of(value) for value in values))
        return signatures.index(resolve(given, signatures, "ab"))
    except ArgumentError as error:
        return "ambiguous" if "Ambiguous" in str(error) else "none"


def our_conversion(declared: Any, value: Any) -> Conversion | None:
    try:
        (wanted,) = parse_signature(types.void(declared)).arguments
        return conversion(type_of(value), wanted)
    except (ArgumentError, ConfigError):
        return None


def our_bytes(declared: Any, value: Any) -> bytes | None:
    """Return what gridjit packs for a declared type, None if it refuses."""
    if our_conversion(declared, value) is None:
        return None
    (wanted,), given = parse_signature(types.void(declared)).arguments, type_of(value)
    parts: Any = handler_of(value).parameters(value, SimpleNamespace(space=None))  # type: ignore[arg-type]
    try:
        parts = parts if (convert := converter(given, wanted)) is None else convert(parts)
    except ArgumentError:
        return None
    return b"".join(struct.pack(f"@{code}", part) for code, part in zip(codes_of(given, wanted), parts, strict=True))


def taken_here_alone(declared: Any, value: Any) -> bool:
    """Return whether gridjit says that it takes more than numba-cuda's rules do."""
    if isinstance(value, np.ndarray):
        integers = value.dtype.kind in "iu" and isinstance(declared.dtype, types.Integer)
        alike = integers and declared.dtype.signed == (value.dtype.kind == "i")
        low_bits = integers and declared.layout == "A" and alike and 8 * value.itemsize > declared.dtype.bitwidth
        other_sign = integers and 8 * value.itemsize == declared.dtype.bitwidth
        return value.ndim == 1 and (low_bits or other_sign or declared.layout == "F")
    if isinstance(value, tuple):
        return hasattr(value, "_fields") or isinstance(declared, types.BaseNamedTuple)
    others = (types.IntEnumMember,) if isinstance(value, Level) else ()
    return isinstance(declared, (types.CPointer, types.NPDatetime, types.NPTimedelta, *others))


def taken_there_alone(declared: Any, value: Any) -> bool:
    """Return whether numba-cuda's rules take what its packing, or the kernel, then makes nothing sensible of."""
    unpackable = types.Optional | types.NoneType | types.UnicodeCharSeq | types.UnicodeType
    return isinstance(declared, unpackable) or (declared == types.voidptr and np.asarray(value).dtype.kind in "bf")


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_what_one_declared_type_takes_is_what_numba_cuda_takes_by_the_same_conversion(declared: Any) -> None:
    context = cuda_target.typing_context
    warnings.simplefilter("ignore")  # numba's, of records that begin alike
    for value in VALUES:
        ours, numbas = our_conversion(declared, value), numbas_choice([(declared,)], value) == 0
        if (ours is not None) is not numbas:
            assert (taken_here_alone if ours is not None else taken_there_alone)(declared, value), repr(value)
        elif ours is not None:
            theirs = context.can_convert(typeof(value, Purpose.argument), declared)
            assert ours.name.lower() == theirs.name, repr(value)


def refused_here(declared: Any, value: Any) -> bool:
    """Return whether gridjit says that it refuses what numba-cuda packs: bits that mean something else."""
    if isinstance(declared, types.Integer):  # it wraps
        return not -(2 ** (declared.bitwidth - 1)) <= int(value) < 2**declared.bitwidth
    if isinstance(declared, types.BaseTuple):  # by position, whatever the names; the bytes of text, too
        return hasattr(value, "_fields") or not isinstance(value, tuple)
    number = isinstance(value, bool | int | float | np.integer | np.floating | np.bool_)
    return not number or isinstance(value, np.timedelta64) or not isinstance(declared, types.Number)


def packed_here_alone(declared: Any, value: Any) -> bool:
    """Return whether gridjit says that it packs what ctypes refuses to."""
    if isinstance(declared, types.BaseTuple):
        return any(map(packed_here_alone, declared, value))
    if isinstance(declared, types.Integer):
        return isinstance(value, np.bool_) or float(value).is_integer()
    return declared == types.voidptr or (isinstance(declared, types.NPDatetime | types.NPTimedelta))


@pytest.mark.parametrize(
    "declared", [one for one in DECLARED if not isinstance(one, types.Array | types.Record)], ids=str
)
def test_values_become_what_numba_cuda_packs_for_the_declared_type(declared: Any) -> None:
    warnings.simplefilter("ignore")  # NumPy's, of numba-cuda's overflows
    for value in (one for one in VALUES if not isinstance(one, np.ndarray | np.void)):
        ours, numbas = our_bytes(declared, value), numbas_bytes(declared, value)
        if ours is None and numbas is not None:
            assert refused_here(declared, value), repr(value)
        elif ours is not None and numbas is None:
            assert packed_here_alone(declared, value), repr(value)
        else:
            assert ours == numbas, repr(value)


def test_of_two_declared_numbers_the_one_that_numba_cuda_takes_is_used() -> None:
    values = [True, 1, 1.5, 1j, *(np.dtype(name).type(5) for name in SCALAR_CODES)]
    for declared in itertools.combinations([(kind,) for kind in SCALARS], 2):
        for value in values:
            assert our_choice(declared, value) == numbas_choice(declared, value), (declared, repr(value))


def test_of_several_declared_signatures_the_one_that_numba_cuda_takes_is_used() -> None:
    choose = random.Random(0)
    values = [True, 1, 1.5, 1j, *(np.dtype(name).type(5) for name in SCALAR_CODES)]
    for _ in range(600):
        declared = list(dict.fromkeys((choose.choice(SCALARS), choose.choice(SCALARS)) for _ in range(4)))
        given = (choose.choice(values), choose.choice(values))
        assert our_choice(declared, *given) == numbas_choice(declared, *given), (declared, given)
