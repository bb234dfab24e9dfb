"""Halves and bfloat16s on the host: every result is the exact one, rounded once, as CUDA says."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from gridjit.compiler.targets.host.library.narrow_floats import table
from tests.compiler.host.shims import function, named

DIGITS = {"6__half": (10, 15), "13__nv_bfloat16": (7, 127)}
KINDS = list(DIGITS)


def value(kind, bits):
    """Return 16 bits as a float, exactly."""
    digits, bias = DIGITS[kind]
    sign = -1.0 if bits >> 15 else 1.0
    exponent, fraction = (bits & 0x7FFF) >> digits, bits & ((1 << digits) - 1)
    if exponent == 2 * bias + 1:
        return math.nan if fraction else sign * math.inf
    hidden = 1 << digits if exponent else 0
    return sign * math.ldexp(fraction + hidden, max(exponent, 1) - bias - digits)


def rounded(kind, number, mode="rn", zero=0):
    """Return a fraction rounded to 16 bits; zero: the bits of a result that is zero."""
    digits, bias = DIGITS[kind]
    if number == 0:
        return zero
    sign, size = (0x8000, -number) if number < 0 else (0, number)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, -bias) + 1
    while size >= Fraction(2) ** exponent:
        exponent += 1
    while exponent > 2 - bias and size < Fraction(2) ** (exponent - 1):
        exponent -= 1
    unit = Fraction(2) ** (max(exponent - 1, 1 - bias) - digits)
    whole, rest = divmod(size / unit, 1)
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1), "rz": False}
    up |= {"ru": rest > 0 and not sign, "rd": rest > 0 and bool(sign)}
    bits = (max(exponent - 1, 1 - bias) - (1 - bias) << digits) + int(whole) + up[mode]
    top = (2 * bias + 1) << digits
    if bits >= top:
        bits = top if mode == "rn" or (mode == "ru" and not sign) or (mode == "rd" and sign) else top - 1
    return sign | bits


def interesting(kind, count=4):
    digits, bias = DIGITS[kind]
    edges = [0, 1, 2, 3, (1 << digits) - 1, 1 << digits, (1 << digits) + 1, ((2 * bias + 1) << digits) - 1]
    edges += [bias << digits, (bias << digits) + 1, ((bias + 1) << digits) - 1, (bias - 1) << digits]
    some = np.random.default_rng(7).integers(0, ((2 * bias + 1) << digits) - 1, count).tolist()
    return [bits | sign for bits in edges + some for sign in (0, 0x8000)]


EXACT = {"__hadd": lambda a, b: a + b, "__hsub": lambda a, b: a - b, "__hmul": lambda a, b: a * b}
EXACT["__hdiv"] = lambda a, b: a / b


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_is_rounded_once(kind, name):
    call = function(named(name, f"{kind}S_"))
    for a, b in itertools.product(interesting(kind), repeat=2):
        if name == "__hdiv" and not b & 0x7FFF:
            continue
        found = call(np.uint16, np.uint16(a), np.uint16(b))
        exact = EXACT[name](Fraction(value(kind, a)), Fraction(value(kind, b)))
        assert found & 0x7FFF == rounded(kind, exact) & 0x7FFF
        assert exact == 0 or found == rounded(kind, exact)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fused_multiplication_and_addition_is_rounded_once(kind):
    call = function(named("__hfma", f"{kind}S_S_"))
    some = interesting(kind)
    for a, b, c in itertools.product(some[::3], some[1::3], some[::2]):
        exact = Fraction(value(kind, a)) * Fraction(value(kind, b)) + Fraction(value(kind, c))
        found = call(np.uint16, *map(np.uint16, (a, b, c)))
        assert found & 0x7FFF == rounded(kind, exact) & 0x7FFF
        assert exact == 0 or found == rounded(kind, exact)


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["rn", "rz", "ru", "rd"])
@pytest.mark.parametrize(("word", "letter", "dtype"), [("ll", "x", np.int64), ("ull", "y", np.uint64)])
def test_integers_of_64_bits_are_rounded_once_in_every_way(kind, mode, word, letter, dtype):
    own = "half" if kind == "6__half" else "bfloat16"
    call = function(named(f"__{word}2{own}_{mode}", letter))
    bounds = np.iinfo(dtype)
    numbers = [0, 1, 255, 256, 257, 2049, 4097, 65519, 65520, bounds.max, bounds.min, bounds.max - 1]
    numbers += [2**57 + 2**49, 2**57 + 2**49 + 1, 2**57 + 2**49 - 1, 2**62 + 2**54 + 1, 2**62 + 2**54 - 1]
    numbers = [n for one in numbers for n in (one, -one) if bounds.min <= n <= bounds.max]
    for number in numbers:
        assert call(np.uint16, dtype(number)) == rounded(kind, Fraction(number), mode), number


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["rn", "rz", "ru", "rd"])
def test_floats_are_rounded_once_in_every_way(kind, mode):
    own = "half" if kind == "6__half" else "bfloat16"
    call = function(named(f"__float2{own}_{mode}", "f"))
    numbers = [value(kind, bits) * factor for bits in interesting(kind) for factor in (1.0, 1.0001, 0.9999, 1.5)]
    for number in map(np.float32, (n for n in numbers if abs(n) < 3e38)):
        assert call(np.uint16, number) == rounded(kind, Fraction(float(number)), mode, 0x8000 * np.signbit(number))


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_nan_and_it_is_less_equal_and_greater_than_nothing(kind):
    digits, bias = DIGITS[kind]
    nan, one = np.uint16(0x7FFF - 1), np.uint16(bias << digits)
    assert function(named("__hadd", f"{kind}S_"))(np.uint16, nan, one) == 0x7FFF
    assert function(named("__hmax", f"{kind}S_"))(np.uint16, nan, one) == one
    assert function(named("__hmax_nan", f"{kind}S_"))(np.uint16, nan, one) == 0x7FFF
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        assert function(named(f"__h{name}", f"{kind}S_"))(np.uint8, nan, one) == 0
        assert function(named(f"__h{name}u", f"{kind}S_"))(np.uint8, nan, one) == 1
        operator = function(f"_Z{name}RK{kind}S1__nbst")
        assert operator(np.uint8, nan, one) == (name == "ne")


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_saturate_end_at_zero_and_one(kind):
    digits, bias = DIGITS[kind]
    one = np.uint16(bias << digits)
    call = function(named("__hadd_sat", f"{kind}S_"))
    assert call(np.uint16, one, one) == one
    assert call(np.uint16, one | np.uint16(0x8000), np.uint16(0)) == 0
    assert call(np.uint16, np.uint16(0x7FFF), one) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "exact"), [("hexp", math.exp), ("hsin", math.sin), ("htanh", math.tanh)])
def test_functions_are_those_of_doubles_rounded_once(kind, name, exact):
    call = function(named(name, kind))
    for bits in interesting(kind):
        if abs(value(kind, bits)) < 10:
            wanted = rounded(kind, Fraction(exact(value(kind, bits))), zero=bits & 0x8000)
            assert call(np.uint16, np.uint16(bits)) == wanted


def test_a_pair_is_two_of_what_one_is():
    single = function(named("__hmul", "13__nv_bfloat16S_"))
    both = function(named("__hmul2", "14__nv_bfloat162S_"))
    a, b = np.array([0x3FC0, 0x4100], np.uint16), np.array([0x4080, 0x3F00], np.uint16)
    wanted = [single(np.uint16, *one) for one in zip(a, b, strict=True)]
    assert both(np.uint32, a.view(np.uint32), b.view(np.uint32)) == np.array(wanted, np.uint16).view(np.uint32)[0]


@pytest.mark.parametrize(
    "symbol", ["_ZL11__shfl_othrj6__halfii_nbst", "_ZL5otherf_nbst", "another", "_ZL99__haddf_nbst"]
)
def test_a_function_that_is_not_known_has_no_definition(symbol):
    assert table.definition(symbol) is None
