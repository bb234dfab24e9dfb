"""Libraries: linear algebra and random numbers, of which numba says one thing with SciPy and another without."""

# mypy: ignore-errors
# ruff: noqa

import random

import numpy as np
from numpy.linalg import det
from numpy.random import rand

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake

MATRIX = "void(float32[:,::1])"


@cuda.jit(device=True)
def product(a):
    return np.vdot(a, a)


@mistake(FLOATS)
def matmul_inplace(out):
    out @= out


@mistake(MATRIX)
def matmul_of_matrices(out):
    c = out @ out
    out[0, 0] = c[0, 0]


@mistake(MATRIX)
def dot_method(out):
    out[0, 0] = out.dot(out)[0, 0]


@mistake(FLOATS)
def inner(out):
    out[0] = np.inner(out, out)


@mistake(FLOATS)
def convolved(out):
    out[0] = np.convolve(out, out)[0]


@mistake(FLOATS)
def product_in_a_function(out):
    out[0] = product(out)


@mistake(MATRIX)
def inverse(out):
    b = np.linalg.inv(out)
    out[0, 0] = b[0, 0]


@mistake(MATRIX)
def solved(out):
    out[0, 0] = np.linalg.solve(out, out[0])[0]


@mistake(MATRIX)
def imported_determinant(out):
    out[0, 0] = det(out)


@mistake(FLOATS)
def normal(out):
    out[0] = np.random.normal(0.0, 1.0)


@mistake(FLOATS)
def imported_rand(out):
    out[0] = rand()


@mistake(FLOATS)
def of_python(out):
    out[0] = random.random()


@mistake(FLOATS)
def generator_made(out):
    out[0] = np.random.default_rng(3).random()


@mistake(FLOATS)
def ufunc_that_math_has(out):
    out[0] = np.log(out[0]) + np.exp(out[0])


@mistake(FLOATS)
def ufunc_of_another_name_in_math(out):
    out[0] = np.arctan(out[0]) * np.arccosh(out[0]) * np.logaddexp(out[0], out[1])


@mistake(FLOATS)
def asked_for_its_class(out):
    out[0] = isinstance(out, np.ndarray)


import math


@mistake(FLOATS)
def math_comb(out):
    out[0] = math.comb(5, 2)
