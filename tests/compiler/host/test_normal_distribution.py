"""The error function's inverses and scaled form, and the normal distribution, are as exact as libdevice says."""

# mypy: ignore-errors
from __future__ import annotations

import ctypes
import decimal
import math
from decimal import Decimal

import numpy as np
import pytest

from gridjit.compiler.targets.host.library import maths
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.devices.host.load import load

# The largest errors that CUDA's documents state, in units in the last place: of doubles and of floats.
STATED = {"erfinv": (5, 2), "erfcinv": (6, 4), "erfcx": (4, 4), "normcdf": (5, 5), "normcdfinv": (8, 5)}


@pytest.fixture(autouse=True)
def digits():
    with decimal.localcontext() as context:
        context.prec = 50
        yield


@pytest.fixture(scope="module")
def function():
    """Return what compiles a function of libdevice for one number."""
    target, known = host_target(), {}

    def of(name, suffix=""):
        kind, number = ("float", ctypes.c_float) if suffix else ("double", ctypes.c_double)
        name = f"__nv_{name}{suffix}"
        if name not in known:
            call = f"define {kind} @tested({kind} %x) {{\n  %r = call {kind} @{name}({kind} %x)\n  ret {kind} %r\n}}\n"
            module = llvm.parse(llvm.header(target) + maths.definitions({name}, target) + call)
            llvm.keep_only(module, "tested", frozenset())
            llvm.optimize(module, target, 3)
            known[name] = load(llvm.emit(module, target), "tested")
        return ctypes.CFUNCTYPE(number, number)(known[name].address)

    return of


def erfc(x):
    """Return the complement of the error function, to 40 digits: by its series of terms of one sign."""
    if x < 0:
        return 2 - erfc(-x)
    with decimal.localcontext() as context:
        context.prec = 60 + int(x * x)
        term = total = x
        n = 1
        while term > total * Decimal(10) ** -context.prec:
            term = term * 2 * x * x / (2 * n + 1)
            total, n = total + term, n + 1
        root = root_of_pi()
        return 1 - 2 / root * (-x * x).exp() * total


def root_of_pi():
    with decimal.localcontext() as context:
        context.prec += 10
        return pi().sqrt()


def pi():
    """Return pi to the digits of the context (Machin, 1706)."""
    return 4 * (4 * arctan_of_one_over(5) - arctan_of_one_over(239))


def arctan_of_one_over(whole):
    power = total = 1 / Decimal(whole)
    n = 1
    while abs(power) > Decimal(10) ** -(decimal.getcontext().prec + 5):
        power = -power / (whole * whole)
        total, n = total + power / (2 * n + 1), n + 1
    return total


def inverse(wanted, near):
    """Return where erfc is a number, from a place nearby, by Halley's steps."""
    place = Decimal(near)
    for _ in range(3):
        with decimal.localcontext() as context:
            context.prec = 50
            step = (erfc(place) - wanted) / (-2 / root_of_pi() * (-place * place).exp())
            place -= step / (1 + place * step)
    return place


def exact(name, x, found):
    """Return what a function should return; found: what it returns, from which an inverse is sought."""
    x, root = Decimal(x), Decimal(2).sqrt()
    match name:
        case "erfcx":
            with decimal.localcontext() as context:
                context.prec = 60 + int(x * x)
                return (x * x).exp() * erfc(x)
        case "normcdf":
            return erfc(-x / root) / 2
        case "erfinv" if abs(x) < 1e-20:
            return x * root_of_pi() / 2
        case "erfinv":
            return inverse(1 - x, found)
        case "erfcinv":
            return inverse(x, found)
        case "normcdfinv":
            return -root * inverse(2 * x, -Decimal(found) / root)


ALL = {
    "erfcx": [-5.0, -1.5, -0.3, 1e-20, 0.04759, 0.5, 1.0, 3.7, 4.0, 9.0, 12.5],
    "normcdf": [-9.1, -5.6, -2.682, -1.0001, -1.0, -0.3, 1e-9, 0.7, 2.0, 6.0],
    "erfinv": [1e-30, 0.1, 0.2599, -0.5, 0.84, 0.8500001, 0.86, 0.994960730581738, -0.999, 1 - 2.0**-20],
    "erfcinv": [1e-30, 1e-9, 0.001, 0.1499, 0.16, 0.5, 0.999, 1.0001, 1.5, 1.86, 2 - 2.0**-20],
    "normcdfinv": [1e-30, 1e-9, 0.001, 0.0749, 0.076, 0.3, 0.49, 0.51, 0.77, 0.93, 1 - 2.0**-20],
}
WIDE = {
    "erfcx": [-25.0, 26.0, 30.0],
    "normcdf": [-10.8745, -20.0, -37.0],
    "erfinv": [1e-300, 1 - 2.0**-50],
    "erfcinv": [1e-100, 1.9999999704019753],
    "normcdfinv": [1e-100, 5.5485990336595406e-179],
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_within_the_error_that_libdevice_states(function, name, dtype):
    single = dtype is np.float32
    call, stated = function(name, "f" * single), STATED[name][single]
    for x in map(float, np.array(ALL[name] if single else ALL[name] + WIDE[name], dtype)):
        found = call(x)
        wanted = exact(name, x, found)
        unit = Decimal(float(np.spacing(abs(dtype(float(wanted))))))
        assert abs(Decimal(found) - wanted) <= stated * unit, (x, found, wanted)


INFINITY = math.inf


@pytest.mark.parametrize("suffix", ["", "f"])
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("erfinv", {0.0: 0.0, 1.0: INFINITY, -1.0: -INFINITY, 1.5: None, -INFINITY: None}),
        ("erfcinv", {0.0: INFINITY, 1.0: 0.0, 2.0: -INFINITY, 2.5: None, -0.1: None, INFINITY: None}),
        ("erfcx", {0.0: 1.0, INFINITY: 0.0, -INFINITY: INFINITY, -27.0: INFINITY}),
        ("normcdf", {0.0: 0.5, INFINITY: 1.0, -INFINITY: 0.0, -50.0: 0.0, 50.0: 1.0}),
        ("normcdfinv", {0.0: -INFINITY, 0.5: 0.0, 1.0: INFINITY, -0.1: None, 1.1: None}),
    ],
)
def test_ends_of_the_range_are_zeros_and_infinities_and_beyond_are_nans(function, name, ends, suffix):
    call = function(name, suffix)
    for x, wanted in ends.items():
        found = call(x)
        assert math.isnan(found) if wanted is None else found == wanted, (x, found)
    assert math.isnan(call(math.nan))


def test_the_smallest_numbers_have_inverses(function):
    smallest = math.ulp(0.0)
    assert function("erfinv")(smallest) == smallest
    assert math.copysign(1.0, function("erfinv")(-0.0)) == -1.0
    assert 27.2 < function("erfcinv")(smallest) < 27.3
    assert -38.5 < function("normcdfinv")(smallest) < -38.4


def test_the_smallest_results_are_rounded_once_more(function):
    # Of a subnormal number the last place is a large part.
    x = -38.0
    assert abs(Decimal(function("normcdf")(x)) - exact("normcdf", x, 0)) <= 2 * Decimal(math.ulp(0.0))
