"""Habits of Python, NumPy and CUDA C++ that kernels do not know."""

# mypy: ignore-errors
# ruff: noqa

import functools
import logging
import math
import sys
from enum import Enum, IntEnum

import numpy as np
from numba import float32, prange

import gridjit
from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake

BIG = 2**70
LOG = logging.getLogger(__name__)


class Color(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


LEVELS = [1, 2, 3]


class Parameters:
    dt = 0.1


@mistake(FLOATS)
def prange(out):
    for i in prange(out.size):
        out[i] = 1


@mistake("void(complex64[::1])")
def math_complex(out):
    out[0] = math.sqrt(out[0])


@mistake("void(complex64[::1])")
def complex_compare(out):
    if out[0] < out[1]:
        out[0] = 1


@mistake("void(int8[::1])")
def atomic_of_bytes(out):
    cuda.atomic.add(out, 0, 1)


@mistake(FLOATS)
def atomic_bits_of_floats(out):
    cuda.atomic.and_(out, 0, 1)


@mistake(FLOATS)
def atomic_sum(out):
    x = cuda.atomic.sum(out, 0, 1)


@mistake(FLOATS)
def enum_member(out):
    out[0] = Color.BLUE


@mistake(FLOATS)
def method_of_an_object(out):
    LOG.info("x")


@mistake(FLOATS)
def and_between_comparisons(out):
    i = cuda.grid(1)
    if i > 0.5 & out[0] < 1:
        out[0] = 1


@mistake(FLOATS)
def inverted_float(out):
    out[0] = ~out[0]


@mistake(FLOATS)
def whole_array_changed(out):
    out += 1


@mistake(FLOATS)
def astype_of_a_number(out):
    out[0] = out[0].astype(np.float64)


@mistake(FLOATS)
def clip_of_a_number(out):
    out[0] = np.clip(out[0], 0, 1)


@mistake(FLOATS)
def where_of_numbers(out):
    out[0] = np.where(out[0] > 0, 1, 2)


@mistake(FLOATS)
def global_beyond_64_bits(out):
    out[0] = BIG


@mistake(FLOATS)
def zip_strict(out):
    for a, b in zip(out, out, strict=True):
        out[0] = a


@mistake(FLOATS)
def shared_objects(out):
    s = cuda.shared.array(32, dtype=object)
    s[0] = 1


@mistake(FLOATS)
def shared_zeros(out):
    s = cuda.shared.zeros(32, float32)
    s[0] = 1


@mistake(FLOATS)
def constant_list(out):
    c = cuda.const.array_like([1, 2, 3])
    out[0] = c[0]


@mistake(FLOATS)
def blockdim_index(out):
    out[cuda.blockDim[0]] = 1


@mistake(FLOATS)
def static_thread(out):
    out[0] = gridjit.static.threadIdx.x


@mistake(FLOATS)
def static_axis(out):
    out[0] = gridjit.static.blockDim.w


@mistake(FLOATS)
def raised_no_exception(out):
    raise Parameters


@mistake(FLOATS)
def printed_to_a_file(out):
    print(out[0], file=sys.stderr)


@mistake(FLOATS)
def power_of_an_array(out):
    out[0] = pow(out, 2)


@mistake(FLOATS)
def gridsize_not_called(out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize):
        out[i] = 1


@mistake(FLOATS)
def loop_over_a_size(out):
    for i in out.shape[0]:
        out[i] = 1


@mistake(FLOATS)
def loop_over_a_number(out):
    for i in 10:
        out[i] = 1


@mistake(FLOATS)
def reshape_list(out):
    x = out.reshape([2, 2])
    x[0, 0] = 1


@mistake(FLOATS)
def shape_assigned(out):
    out.shape = (2, 2)


@mistake(FLOATS)
def bits_of_a_float(out):
    out[0] = cuda.ffs(out[0])


@mistake("void(float32[:, ::1])")
def atomic_one_index(out):
    cuda.atomic.add(out, 0, 1)


@mistake(FLOATS)
def mixed_types(out):
    out[0] = cuda.fma(out[0], 1)


@mistake(FLOATS)
def threadfence(out):
    cuda.threadfence(1)


@mistake(FLOATS)
def random_states(out):
    out[0] = cuda.random.xoroshiro128p_uniform_float32(out, 0)


@mistake(FLOATS)
def slice_of_a_list(out):
    out[0:2] = [1, 2]


@mistake("void(int32[::1])")
def shifted_too_far(out):
    out[0] = 1 << 70


@mistake("void(int32[::1])")
def maximum_with_none(out):
    out[0] = max(out[0], None)


@mistake("void(uint8[::1])")
def first_bit_of_a_byte(out):
    out[0] = cuda.ffs(out[1])


@mistake(FLOATS)
def sorted_numbers(out):
    out[0] = sorted((3, 1))[0]


@mistake(FLOATS)
def place_without_an_axis(out):
    out[0] = cuda.threadIdx


@mistake(FLOATS)
def unrolled_loop(out):
    for x in cuda.literal_unroll((1, 2.5)):
        out[0] += x


@mistake(FLOATS)
def int_enum_member(out):
    out[0] = Level.LOW


@mistake(FLOATS)
def plain_enum_member(out):
    out[0] = Color.RED


@mistake(FLOATS)
def axis_added_alone(out):
    out[0] = out[None][0, 0]


@mistake(FLOATS)
def method_of_a_global_list(out):
    out[0] = LEVELS.index(2)


@mistake(FLOATS)
def item_of_a_mask(out):
    out[0] = out[out > 0][0]


@mistake(FLOATS)
def text_of_a_number(out):
    out[0] = str(out[0])


@mistake(FLOATS)
def reduced_by_a_lambda(out):
    out[0] = functools.reduce(lambda a, b: a + b, (1, 2))
