"""Overloads: mistakes in the code of a library's functions, and a library's own refusals."""

# mypy: ignore-errors
# ruff: noqa

import numpy as np

from gridjit import cuda
from tests.end_to_end.mistakes import mistake as library
from tests.end_to_end.mistakes.mistake import FLOATS, mistake

COMPLEX = "void(complex64[::1])"


def smaller(a, b):
    """In a kernel: return the smaller one."""


@cuda.extending.overload(smaller)
def overload_smaller(a, b):
    def code(a, b):
        return a if a < b else b

    return code


def smallest(a, b, c):
    """In a kernel: return the smallest one."""


@cuda.extending.overload(smallest)
def overload_smallest(a, b, c):
    return lambda a, b, c: smaller(
        smaller(a, b),
        c,
    )


def block_sum(value):
    """In a kernel: return the sum of the block's values."""


@cuda.extending.overload(block_sum)
def overload_block_sum(value):
    def code(value):
        tile = cuda.shared.array(cuda.blockDim.x, np.float32)
        tile[cuda.threadIdx.x] = value
        return tile[0]

    return code


def block_mean(value):
    """In a kernel: return the mean of the block's values."""


@cuda.extending.overload(block_mean)
def overload_block_mean(value):
    def code(value):
        return value / threads

    return code


def block_rank(value):
    """In a kernel: return the rank of a value."""


@cuda.extending.overload(block_rank)
def overload_block_rank(value):
    return value.rank


def scaled(value, by=1):
    """In a kernel: return a multiple of a value."""


@cuda.extending.overload(scaled)
def overload_scaled(value, by=1):
    return lambda value, by: value * by


def warp_rank(value):
    """In a kernel: return the warp's number."""


@cuda.extending.overload(warp_rank)
def overload_warp_rank(value):
    raise ValueError("warp_rank needs whole warps")


@mistake(COMPLEX)
def an_operator_in_a_librarys_code(out):
    out[0] = smaller(out[0], out[1])


@mistake(COMPLEX)
def an_operator_in_code_that_a_librarys_code_calls(out):
    out[0] = smallest(out[0], out[1], out[2])


@mistake(FLOATS)
def a_shape_in_a_librarys_code(out):
    out[0] = block_sum(out[0])


@mistake(FLOATS)
def a_name_in_a_librarys_code(out):
    out[0] = block_mean(out[0])


@mistake(FLOATS)
def an_attribute_in_a_librarys_overload(out):
    out[0] = block_rank(out[0])


@mistake(FLOATS)
def parameters_of_a_librarys_code(out):
    out[0] = scaled(out[0])


@mistake(FLOATS)
def a_refusal(out):
    out[0] = warp_rank(out[0])


def neg(value):
    """In a kernel: return the value, negated; for integers only."""


@cuda.extending.overload(neg)
def overload_neg(value):
    return None


@mistake(FLOATS)
def a_function_that_is_named_as_an_operator(out):
    out[0] = neg(out[0])


@mistake(FLOATS)
def a_function_of_a_module_that_has_no_code_for_kernels(out):
    out[0] = library.told(out[0])
