"""Arithmetic with a rounding in its name: each result is the exact one, rounded up, down or towards zero."""

# mypy: ignore-errors
from __future__ import annotations

import ctypes
import math
from fractions import Fraction

import numpy as np
import pytest

from gridjit.compiler.targets.host.library import maths
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.devices.host.load import load

MODES = ["rz", "ru", "rd"]
C_TYPES = {np.float32: ctypes.c_float, np.float64: ctypes.c_double, np.int32: ctypes.c_int32, np.int64: ctypes.c_int64}
C_TYPES |= {np.uint32: ctypes.c_uint32, np.uint64: ctypes.c_uint64}


def function(name, result, *arguments):
    """Return a function of the library as one of Python's."""
    target = host_target()
    text = maths.definitions({f"__nv_{name}"}, target).replace(f"@__nv_{name}(", "@tested(")
    module = llvm.parse(llvm.header(target) + text)
    llvm.optimize(module, target, 3)
    loaded = load(llvm.emit(module, target), "tested")
    called = ctypes.CFUNCTYPE(C_TYPES[result], *(C_TYPES[one] for one in arguments))(loaded.address)
    called.keeps = loaded
    return lambda *values: result(called(*values))


def nearest(exact, kind, mode):
    """Return a fraction as a number of kind, rounded: no other number of kind is between the two, on the right side."""
    if exact == 0:
        return kind(0)
    with np.errstate(all="ignore"):
        guess = _guess(exact, kind)
        below = guess if _exact(guess) <= exact else np.nextafter(guess, kind(-math.inf))
        above = below if _exact(below) == exact else np.nextafter(below, kind(math.inf))
    down = mode == "rd" or (mode == "rz" and exact > 0)
    return below if down else above


def _guess(exact, kind):
    try:
        guess = kind(float(exact))
    except OverflowError:
        guess = kind(math.inf if exact > 0 else -math.inf)
    return guess if np.isfinite(guess) else np.copysign(np.finfo(kind).max, guess)


def _exact(number):
    return Fraction(float(number)) if np.isfinite(number) else Fraction(10) ** 400 * (1 if number > 0 else -1)


def numbers(kind):
    info = np.finfo(kind)
    tiny, small, eps = info.smallest_subnormal, info.tiny, info.eps
    some = [kind(1), kind(3), kind(1) + eps, kind(1) - eps / 2, info.max, small, tiny, small - tiny, kind(0.1)]
    return [kind(sign) * one for one in some for sign in (1, -1)]


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


FUNCTIONS = [("f", np.float32, name) for name in OPERATIONS] + [
    ("d", np.float64, name) for name in ("add", "mul", "div")
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("letter", "kind", "name"), FUNCTIONS)
def test_arithmetic_is_rounded_as_its_name_says(letter, kind, name, mode):
    call = function(f"{letter}{name}_{mode}", kind, kind, kind)
    for a in numbers(kind):
        for b in numbers(kind):
            exact = OPERATIONS[name](_exact(a), _exact(b))
            assert call(a, b) == nearest(exact, kind, mode), (a, b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "kind"), [("fmaf", np.float32), ("fma", np.float64)])
def test_a_fused_multiplication_and_addition_is_rounded_once(name, kind, mode):
    call = function(f"{name}_{mode}", kind, kind, kind, kind)
    for a, b, c in zip(numbers(kind), numbers(kind)[3:] + numbers(kind)[:3], numbers(kind)[7:] * 2, strict=False):
        assert call(a, b, c) == nearest(_exact(a) * _exact(b) + _exact(c), kind, mode), (a, b, c)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("letter", "kind"), [("f", np.float32), ("d", np.float64)])
def test_roots_are_rounded_as_their_name_says(letter, kind, mode):
    call = function(f"{letter}sqrt_{mode}", kind, kind)
    for number in map(kind, (2, 3, 4, 0.1, np.finfo(kind).tiny, np.finfo(kind).max)):
        root = call(number)
        other = np.nextafter(root, kind(math.inf if mode != "ru" else 0))
        low, high = sorted((root, other))
        assert _exact(low) ** 2 <= _exact(number) <= _exact(high) ** 2
        assert _exact(root) ** 2 <= _exact(number) if mode != "ru" else _exact(root) ** 2 >= _exact(number)


CONVERSIONS = [
    ("int2float", np.int32, np.float32),
    ("uint2float", np.uint32, np.float32),
    *((f"ll2{name}", np.int64, kind) for name, kind in (("float", np.float32), ("double", np.float64))),
    *((f"ull2{name}", np.uint64, kind) for name, kind in (("float", np.float32), ("double", np.float64))),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "integer", "kind"), CONVERSIONS)
def test_integers_are_rounded_as_their_name_says(name, integer, kind, mode):
    call = function(f"{name}_{mode}", kind, integer)
    info = np.iinfo(integer)
    some = [0, 1, 7, 2**24 + 1, info.max, info.max - 1, info.max - 2**20, info.min, info.min + 1, info.max // 2 + 2**7]
    for number in some:
        found = call(number)
        assert found == nearest(Fraction(number), kind, mode), number
        assert number or not np.signbit(found)


@pytest.mark.parametrize("mode", MODES)
def test_doubles_become_floats_as_the_name_says(mode):
    call = function(f"double2float_{mode}", np.float32, np.float64)
    for number in (0.1, -0.1, 1e300, -1e300, 1e-320, -1e-320, 1.0, 2.0**-149 * 1.5):
        assert call(number) == nearest(Fraction(number), np.float32, mode), number


@pytest.mark.parametrize("name", ["fadd_ru", "fdiv_rd"])
def test_what_follows_is_rounded_to_the_nearest(name):
    """The rounding is the thread's: what is computed after must not notice."""
    call = function(name, np.float32, np.float32, np.float32)
    before = 0.1 + 0.2
    call(np.float32(1), np.float32(3))
    one, other = 0.1, 0.2
    assert one + other == before


def test_reciprocal_roots_are_rounded_to_the_nearest():
    call = function("frsqrt_rn", np.float32, np.float32)
    some = np.random.default_rng(3).integers(1, 0x7F800000, 2000).astype(np.uint32).view(np.float32)
    for number in some:
        root = call(number)
        exact, low, high = Fraction(float(number)), *(np.nextafter(root, np.float32(end)) for end in (0, math.inf))
        below, above = ((Fraction(float(root)) + Fraction(float(one))) / 2 for one in (low, high))
        assert below * below * exact < 1 < above * above * exact, number
    assert call(np.float32(0)) == math.inf
    assert call(np.float32(math.inf)) == 0
    assert math.isnan(call(np.float32(-1)))


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("hadd", (-3, 4), 0),
        ("rhadd", (-3, 4), 1),
        ("hadd", (2**31 - 1, 2**31 - 3), 2**31 - 2),
        ("mul24", (-5, 7), -35),
        ("mul24", (2**24 - 1, 3), -3),
        ("sad", (-5, 7, 100), 112),
        ("byte_perm", (0x33221100, 0x77665544, 0x7531), 0x77553311),
        ("byte_perm", (0x000000F0, 0, 0x8880), -16),
    ],
)
def test_small_integer_functions_return_what_cuda_says(name, arguments, wanted):
    assert function(name, np.int32, *[np.int32] * len(arguments))(*arguments) == wanted


@pytest.mark.parametrize(("kind", "suffix"), [(np.float64, ""), (np.float32, "f")])
def test_turns_of_pi_are_exact_where_sine_and_cosine_are(kind, suffix):
    sine, cosine = (function(f"{name}pi{suffix}", kind, kind) for name in ("sin", "cos"))
    for quarter in range(-9, 10):
        assert sine(quarter / 2) == [0, 1, 0, -1][quarter % 4]
        assert cosine(quarter / 2) == [1, 0, -1, 0][quarter % 4]
    for x in np.linspace(-3.3, 3.3, 101, dtype=kind):
        assert sine(x) == pytest.approx(math.sin(math.pi * float(x)), abs=float(np.finfo(kind).eps) * 16)
        assert cosine(x) == pytest.approx(math.cos(math.pi * float(x)), abs=float(np.finfo(kind).eps) * 16)
