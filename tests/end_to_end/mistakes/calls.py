"""Calls: of functions that kernels do not have, or with other arguments than they take."""

# mypy: ignore-errors
# ruff: noqa

import functools
import math
import operator

import numpy as np

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake


@cuda.jit(device=True)
def dev(x, y):
    return x + y


@cuda.jit(device=True)
def two(a, i):
    return a[i], i


@cuda.jit("float32(float32)", device=True)
def decl(x):
    return x


@cuda.jit(device=True)
def nothing(a):
    a[0] = 1


@cuda.jit(device=True)
def forever(n):
    return n * forever(n - 1)


@cuda.jit(device=True)
def grows(x, n):
    if n == 0:
        return 0
    return grows((x, x), n - 1)


@cuda.jit
def other_kernel(out):
    out[0] = 1


@mistake(FLOATS)
def np_linalg_norm(out):
    out[0] = np.linalg.norm(out)


@mistake(FLOATS)
def matmul(out):
    out[0] = out @ out


@mistake(FLOATS)
def np_unsupported(out):
    out[0] = np.median(out)


@mistake(FLOATS)
def np_zeros(out):
    t = np.zeros(4)
    out[0] = t[0]


@mistake(FLOATS)
def np_dot(out):
    out[0] = np.dot(out, out)


@mistake(FLOATS)
def np_einsum(out):
    out[0] = np.einsum("i,i", out, out)


@mistake(FLOATS)
def slice_step_assign(out):
    out[::2] = out


@mistake(FLOATS)
def copy_method(out):
    y = out.copy()
    out[0] = y[0]


@mistake(FLOATS)
def sort_inplace(out):
    out.sort()


@mistake(FLOATS)
def sorted_builtin(out):
    out[0] = sorted(out)[0]


@mistake(FLOATS)
def default_arg_missing(out, k=2.0):
    out[0] = k


@mistake(FLOATS)
def dev_wrong_args(out):
    out[0] = dev(out[0])


@mistake(FLOATS)
def dev_wrong_kw(out):
    out[0] = dev(out[0], z=1)


@mistake(FLOATS)
def dev_too_many(out):
    out[0] = two(out, 1, 2, 3)


@mistake(FLOATS)
def dev_declared_array(out):
    out[0] = decl(out)


@mistake(FLOATS)
def dev_none(out):
    out[0] = nothing(out)


@mistake(FLOATS)
def star_call(out):
    xs = (1.0, 2.0)
    out[0] = dev(*out)


@mistake("void(int8[::1])")
def atomic_dtype(out):
    cuda.atomic.add(out, 0, 1)


@mistake(FLOATS)
def atomic_scalar(out):
    cuda.atomic.add(out[0], 0, 1)


@mistake(FLOATS)
def atomic_add_args(out):
    cuda.atomic.add(out, 0)


@mistake(FLOATS)
def math_wrong(out):
    out[0] = math.sqrt("a")


@mistake(FLOATS)
def math_args(out):
    out[0] = math.sqrt(1, 2)


@mistake(FLOATS)
def shfl_args(out):
    out[0] = cuda.shfl_sync(0xFFFFFFFF, out[0])


@mistake(FLOATS)
def grid_arg(out):
    i = cuda.grid(4)
    out[i] = 1


@mistake(FLOATS)
def call_int(out):
    n = 3
    out[0] = n(1)


@mistake(FLOATS)
def shadow(out):
    len = 3
    out[0] = len(out)


@mistake(FLOATS)
def print_array(out):
    print(out)


@mistake(FLOATS)
def print_sep(out):
    print(out[0], sep=",")


@mistake(FLOATS)
def recursion_endless(out):
    out[0] = forever(5)


@mistake(FLOATS)
def kernel_launch_inside(out):
    other_kernel[1, 1](out)


@mistake(FLOATS)
def big_int(out):
    x = 123456789012345678901234567890
    out[0] = x


@mistake(FLOATS)
def recursion_of_other_types(out):
    out[0] = grows(1.0, 3)


@mistake(FLOATS)
def sync_args(out):
    cuda.syncthreads(1, 2)


@mistake(FLOATS)
def grid_without(out):
    out[cuda.grid()] = 1


@mistake(FLOATS)
def grid_computed(out):
    n = int(out[0])
    out[cuda.grid(n)] = 1


@mistake(FLOATS)
def lane_called(out):
    out[0] = cuda.laneid()


@mistake(FLOATS)
def thread_called(out):
    out[cuda.threadIdx()] = 1


@mistake("void(float32[::1], int64)")
def argument_called(out, n):
    out[0] = n()


@mistake(FLOATS)
def reduced(out):
    out[0] = functools.reduce(operator.add, out)


@mistake(FLOATS)
def enumerated(out):
    for i, x in enumerate(out, start="a"):
        out[i] = x


@mistake(FLOATS)
def shared_misnamed(out):
    s = cuda.shared.array(size=4, dtype=np.float32)
    out[0] = s[0]


@cuda.jit(device=True)
def pair(p, q):
    return p + q


@mistake(FLOATS)
def wrong_keyword(out):
    out[0] = pair(out[0], r=2)


@mistake(FLOATS)
def tuple_called(out):
    out[0] = out.shape(0)


@mistake(FLOATS)
def grid_not_called(out):
    out[0] = cuda.grid.x


@mistake(FLOATS)
def min_of_text(out):
    out[0] = min(out[0], "x")


@mistake(FLOATS)
def attribute_by_name(out):
    out[0] = getattr(out, "shape")[0]


@mistake(FLOATS)
def mapped(out):
    for v in map(lambda v: v + 1, out):
        out[0] = v


@cuda.jit(device=True)
def number_or_text(n):
    if n > 1:
        return 1
    return "a"


@mistake(FLOATS)
def calls_number_or_text(out):
    out[0] = number_or_text(out[0])


@cuda.jit(device=True)
def made_inside(n):
    s = cuda.local.array(4, np.float32)
    return s


@mistake(FLOATS)
def calls_made_inside(out):
    out[0] = made_inside(out[0])[0]


@cuda.jit(device=True)
def by_name(x, *, factor=2):
    return x * factor


@mistake(FLOATS)
def calls_by_name(out):
    out[0] = by_name(out[0], factor=3)


@mistake(FLOATS)
def flattened(out):
    out[0] = out.flatten()[1]


@cuda.jit(device=True)
def second_of_flattened(x):
    first = x.flatten()
    return first[1]


@mistake(FLOATS)
def calls_flattened(out):
    out[0] = second_of_flattened(out)


@mistake("void(float32[:,::1])")
def row_assigned(out):
    row = cuda.local.array(4, np.float32)
    out[0] = row


@mistake(FLOATS)
def largest_item(out):
    out[0] = out.max()


@cuda.jit(device=True)
def by_name_after_others(x, *others, factor=2):
    return x * factor + len(others)


@mistake(FLOATS)
def calls_by_name_after_others(out):
    out[0] = by_name_after_others(out[0], 1, 2)
