"""Floats of 8 bits on the host: every conversion gives the bits that CUDA's headers give."""

# mypy: ignore-errors
from __future__ import annotations

import functools
import inspect
import itertools
import math
import re

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host.library.narrow_floats import table
from tests.compiler.host.shims import function, named

numba_cuda()

# Digits, bias, the largest number and what is beyond it.
FORMATS = {"e4m3": (3, 7, 0x7E, 0x7F), "e5m2": (2, 15, 0x7B, 0x7C)}
INTEGERS = {np.int16: "s", np.uint16: "t", np.int32: "i", np.uint32: "j", np.int64: "x", np.uint64: "y"}


@functools.cache
def value(kind, bits):
    """Return 8 bits as a float, exactly."""
    if kind == "e8m0":
        return math.nan if bits == 0xFF else math.ldexp(1.0, bits - 127)
    digits, bias, top, beyond = FORMATS[kind]
    size, sign = bits & 0x7F, -1.0 if bits & 0x80 else 1.0
    if size > top:
        return sign * math.inf if kind == "e5m2" and size == beyond else math.nan
    exponent, fraction = size >> digits, size & ((1 << digits) - 1)
    hidden = 1 << digits if exponent else 0
    return sign * math.ldexp(fraction + hidden, max(exponent, 1) - bias - digits)


def nearest(kind, number, saturates):
    """Return the bits of the number of a format that is nearest to a float, of two the one with an even last digit."""
    top, beyond = FORMATS[kind][2:]
    sign = 0x80 if math.copysign(1.0, number) < 0 else 0
    known = np.array([value(kind, bits) for bits in range(top + 1)])
    # What a larger exponent would bring decides what is too large.
    known = np.append(known, 2 * known[-1] - known[-2])
    away = np.abs(known - min(abs(number), 1e9))
    bits = min(np.flatnonzero(away == away.min()), key=lambda n: n % 2)
    return sign | ((top if saturates else beyond) if bits > top else int(bits))


def around(kind):
    """Return all numbers of a format, those between, and those beside each."""
    top = FORMATS[kind][2]
    known = [value(kind, bits) for bits in range(top + 1)]
    between = [(one + other) / 2 for one, other in itertools.pairwise(known)]
    edges = [known[-1] + (known[-1] - known[-2]) / 2, known[-1] * 1.5, 1e30, math.inf]
    numbers = np.array(known + between + edges, np.float32)
    beside = [np.nextafter(numbers, np.float32(np.inf)), np.nextafter(numbers, np.float32(0))]
    return [sign * number for number in np.concatenate([numbers, *beside]) for sign in (np.float32(1), np.float32(-1))]


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("saturates", [0, 1])
def test_floats_are_rounded_to_the_nearest_and_saturate_if_asked(kind, saturates):
    code = np.int32(list(FORMATS).index(kind))
    float_, double = (
        function(named(f"__nv_cvt_{word}_to_fp8", f"{word[0]}17__nv_saturation_t25__nv_fp8_interpretation_t"))
        for word in ("float", "double")
    )
    for number in around(kind):
        wanted = nearest(kind, float(number), saturates)
        assert float_(np.uint8, number, np.int32(saturates), code) == wanted, number
        assert double(np.uint8, np.float64(number), np.int32(saturates), code) == wanted, number


@pytest.mark.parametrize("kind", FORMATS)
def test_a_double_is_rounded_once(kind):
    call = function(f"_ZN13__nv_fp8_{kind}C1Ed_nbst")
    middle = (1.0 + value(kind, 1 + next(b for b in range(128) if value(kind, b) == 1.0))) / 2
    assert value(kind, int(call(np.uint8, np.float64(middle)))) == 1.0
    assert value(kind, int(call(np.uint8, np.nextafter(middle, 2.0)))) > 1.0


@pytest.mark.parametrize("kind", FORMATS)
def test_a_nan_of_a_float_has_neither_sign_nor_digits_and_one_of_a_double_keeps_its_sign(kind):
    single, double = (function(f"_ZN13__nv_fp8_{kind}C1E{letter}_nbst") for letter in "fd")
    assert single(np.uint8, np.array([0xFFC00000], np.uint32)) == 0x7F
    assert double(np.uint8, np.array([0xFFF8000000000000], np.uint64)) == (0xFE if kind == "e5m2" else 0xFF)


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_become_floats_first(kind, dtype):
    call = function(f"_ZN13__nv_fp8_{kind}C1E{INTEGERS[dtype]}_nbst")
    bounds = np.iinfo(dtype)
    for number in (0, 1, 9, 17, 19, 447, 449, 463, 465, 30000, bounds.max, bounds.min):
        assert call(np.uint8, dtype(number)) == nearest(kind, float(np.float32(number)), 1), number


@pytest.mark.parametrize("kind", [*FORMATS, "e8m0"])
@pytest.mark.parametrize(("letter", "dtype"), [("f", np.float32), ("d", np.float64)])
def test_all_of_256_numbers_become_floats_exactly(kind, letter, dtype):
    call = function(f"_ZNK13__nv_fp8_{kind}cv{letter}Ev_nbst")
    found = np.array([call(dtype, np.uint8(bits)) for bits in range(256)])
    np.testing.assert_array_equal(found, np.array([value(kind, bits) for bits in range(256)], dtype))
    np.testing.assert_array_equal(np.signbit(found[0x80]), kind != "e8m0")


@pytest.mark.parametrize("kind", FORMATS)
def test_they_become_halves_and_bfloat16s_exactly_with_one_nan(kind):
    half, bfloat = (function(f"_ZNK13__nv_fp8_{kind}cv{to}Ev_nbst") for to in ("6__half", "13__nv_bfloat16"))
    for bits in range(256):
        exact = value(kind, bits)
        one, other = half(np.uint16, np.uint8(bits)), bfloat(np.uint16, np.uint8(bits))
        if math.isnan(exact):
            assert one == other == 0x7FFF
        else:
            assert one.view(np.float16) == exact
            assert (np.uint32(other) << np.uint32(16)).view(np.float32) == exact


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", [*FORMATS, "e8m0"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, *INTEGERS])
def test_they_become_integers_towards_zero_within_bounds(kind, dtype):
    letter = {np.int8: "a", np.uint8: "h", **INTEGERS}[dtype]
    call, bounds = function(f"_ZNK13__nv_fp8_{kind}cv{letter}Ev_nbst"), np.iinfo(dtype)
    for bits in range(256):
        exact = value(kind, bits)
        if math.isnan(exact):
            assert call(dtype, np.uint8(bits)) == (0 if bounds.bits < 64 else np.uint64(2**63).view(dtype))
        else:
            limited = max(bounds.min, min(bounds.max, exact))
            assert call(dtype, np.uint8(bits)) == int(limited), bits


@pytest.mark.parametrize("kind", [*FORMATS, "e8m0"])
def test_only_zeros_are_false(kind):
    call = function(f"_ZNK13__nv_fp8_{kind}cvbEv_nbst")
    for bits in range(256):
        assert bool(call(np.uint8, np.uint8(bits))) == (value(kind, bits) != 0)


def _power(number, up, saturates):
    """Return the bits of the power of two that is not above a size, or with up not below it."""
    size = abs(number)
    if math.isnan(number):
        return 0xFF
    if size >= 2.0**128:
        return 0xFE if saturates else 0xFF
    exponent = max(math.frexp(size)[1] - 1, -127) if size else -127
    exponent += up and size > math.ldexp(1.0, exponent)
    return min(exponent + 127, 0xFE if saturates else 0xFF)


@pytest.mark.parametrize(("rounding", "up"), [(1, False), (2, True)])
@pytest.mark.parametrize("saturates", [0, 1])
@pytest.mark.parametrize(("word", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_powers_of_two_are_rounded_as_asked(word, dtype, rounding, up, saturates):
    call = function(named(f"__nv_cvt_{word}_to_e8m0", f"{word[0]}17__nv_saturation_t13cudaRoundMode"))
    powers = [dtype(2.0**n) for n in (-149, -140, -128, -127, -126, -1, 0, 1, 7, 126, 127)]
    numbers = [dtype(0), dtype(np.inf), dtype(np.nan), dtype(1.5), dtype(3e38), *powers]
    numbers += [np.nextafter(one, dtype(to)) for one in powers for to in (0, np.inf)]
    for number in (sign * one for one in numbers for sign in (dtype(1), dtype(-1))):
        found = call(np.uint8, number, np.int32(saturates), np.int32(rounding))
        assert found == _power(float(number), up, saturates), number


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_become_the_power_of_two_that_is_not_below_their_size(dtype):
    call, bounds = function(f"_ZN13__nv_fp8_e8m0C1E{INTEGERS[dtype]}_nbst"), np.iinfo(dtype)
    numbers = [n + more for n in (1, 2, 3, 4, 100, 128, 2**14, bounds.max // 2 + 1) for more in (-1, 0, 1)]
    for number in [n for n in (*numbers, *(-n for n in numbers), bounds.max, bounds.min) if n >= bounds.min]:
        wanted = 127 + (abs(number) - 1).bit_length() if number else 0
        assert call(np.uint8, dtype(number)) == wanted, number


def test_numbers_side_by_side_are_what_each_is_alone():
    single = function("_ZN13__nv_fp8_e4m3C1Ef_nbst")
    for count, word in ((2, "6float2"), (4, "6float4")):
        numbers = np.array([1.1, -3.3, 500.0, 0.01][:count], np.float32)
        made = function(f"_ZN15__nv_fp8x{count}_e4m3C1E{word}_nbst")(np.uint32, numbers)
        wanted = [single(np.uint8, number) for number in numbers]
        assert list(made.tobytes()[:count]) == wanted
        back = function(f"_ZNK15__nv_fp8x{count}_e4m3cv{word}Ev_nbst")
        floats = np.array([back(np.dtype((np.void, 16)), made)]).view(np.float32)[:count]
        assert floats.tolist() == [value("e4m3", int(bits)) for bits in wanted]


@pytest.mark.parametrize("module", ["cuda_fp8", "cuda_fp16", "cuda_bf16"])
def test_every_function_that_numba_cuda_binds_is_there(module):
    source = inspect.getsource(__import__(f"numba.cuda._internal.{module}", fromlist=["_"]))
    symbols = set(re.findall(r"\b_Z\w+_nbst\b", source))
    assert len(symbols) > 100
    assert [symbol for symbol in sorted(symbols) if table.definition(symbol) is None] == []
