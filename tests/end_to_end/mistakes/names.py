"""Names: not defined, not of use in a kernel, or without such an attribute."""

# mypy: ignore-errors
# ruff: noqa

import time
from collections import namedtuple

import numba
import numpy as np

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake


G_LIST = [1.0, 2.0, 3.0]


G_DICT = {"a": 1}


G_NONE = None


Pt = namedtuple("Pt", "x y")


class Cfg:
    n = 3


class Thing:
    def __init__(self):
        self.v = 3

    def method(self, x):
        return x


THING = Thing()


def plain(x):
    return x + 1


@cuda.jit(device=True)
def deep3(a):
    return a.nope


@cuda.jit(device=True)
def deep2(a):
    return deep3(a) + 1


@cuda.jit(device=True)
def deep1(a):
    return deep2(a) * 2


@cuda.jit(device=True)
def usesmissing(a):
    return missing_global + a[0]


@numba.njit
def njitted(a):
    return a.sum2()


@mistake(FLOATS)
def undefined_name(out):
    i = cuda.grid(1)
    out[i] = thredshold * 2


@mistake(FLOATS)
def undefined_near(out):
    index = cuda.grid(1)
    out[indx] = 1.0


@mistake(FLOATS)
def undefined_func(out):
    i = cuda.grid(1)
    out[i] = sqrt(2.0)


@mistake(FLOATS)
def missing_cuda(out):
    i = threadIdx.x
    out[i] = 1


@mistake(FLOATS)
def unicode_name(out):
    größe = 3
    out[0] = größ


@mistake(FLOATS)
def multi_line(out):
    i = cuda.grid(1)
    out[i] = out[i] + undefined_thing + 3


@mistake(FLOATS)
def walrus(out):
    if (n := out[0]) > 1:
        out[0] = m


@mistake(FLOATS)
def var_used_before(out):
    out[0] = y
    y = 3


@mistake(FLOATS)
def dev_undefined(out):
    out[0] = usesmissing(out)


@mistake(FLOATS)
def plain_function(out):
    out[0] = plain(out[0])


@mistake(FLOATS)
def class_instance(out):
    out[0] = THING.v


@mistake(FLOATS)
def class_make(out):
    t = Thing()
    out[0] = t.v


@mistake(FLOATS)
def class_method(out):
    out[0] = THING.method(out[0])


@mistake(FLOATS)
def class_attr(out):
    out[0] = Cfg.n


@mistake(FLOATS)
def a_global_list(out):
    out[0] = G_LIST[0]


@mistake(FLOATS)
def global_dict(out):
    out[0] = G_DICT["a"]


@mistake(FLOATS)
def open_file(out):
    f = open("x")


@mistake(FLOATS)
def input_call(out):
    out[0] = input()


@mistake(FLOATS)
def reversed_range(out):
    for i in reversed(range(3)):
        out[i] = 1


@mistake(FLOATS)
def array_attr(out):
    out[0] = out.length


@mistake(FLOATS)
def array_method(out):
    out[0] = out.append(3)


@mistake(FLOATS)
def argmax_typo(out):
    out[0] = out.argmx()


@mistake(FLOATS)
def scalar_attr(out):
    out[0] = out[0].foo


@mistake(FLOATS)
def global_none_call(out):
    out[0] = G_NONE.x


@mistake(FLOATS)
def cuda_typo(out):
    i = cuda.threadidx.x
    out[i] = 1


@mistake(FLOATS)
def cuda_typo2(out):
    i = cuda.threadIdx.w
    out[i] = 1


@mistake(FLOATS)
def sync_typo(out):
    cuda.syncthread()


@mistake(FLOATS)
def local_typo(out):
    s = cuda.local.aray(3, np.float32)


@mistake(FLOATS)
def np_missing(out):
    out[0] = np.nonexistent(out)


@mistake(FLOATS)
def np_random(out):
    out[0] = np.random.rand()


@mistake(FLOATS)
def time_time(out):
    out[0] = time.time()


@mistake(FLOATS)
def to_device_inside(out):
    x = cuda.to_device(out)


@mistake(FLOATS)
def nt_missing(out):
    p = Pt(1, 2)
    out[0] = p.z


@mistake(FLOATS)
def deep_nesting(out):
    out[0] = deep1(out)


@mistake(FLOATS)
def numba_njit(out):
    out[0] = njitted(out)


def _around():
    @mistake(FLOATS)
    def not_assigned_yet(out):
        out[0] = threshold

    return
    threshold = 1


_around()


@mistake(FLOATS)
def near_what_kernels_lack(out):
    out[0] = nope


@mistake(FLOATS)
def near_what_kernels_have(out):
    for i in rnge(3):
        out[i] = 1


LAMBDAS = [lambda a: a, lambda a: a + 1]
TUPLE_OF_LAMBDAS = tuple(LAMBDAS)
TUPLE_OF_OBJECTS = (object(), 1)


@mistake(FLOATS)
def list_of_functions(out):
    out[0] = LAMBDAS[0](out[0])


@mistake(FLOATS)
def tuple_of_functions(out):
    for function in TUPLE_OF_LAMBDAS:
        out[0] = function(out[0])


@mistake(FLOATS)
def tuple_of_objects(out):
    out[0] = TUPLE_OF_OBJECTS[1]


@mistake(FLOATS)
def ufunc_that_kernels_lack(out):
    out[0] = UFUNC(out[0], out[1])


UFUNC = np.heaviside


literal_unroll = numba.literal_unroll


@mistake(FLOATS)
def unrolled_by_the_wrong_one(out):
    for x in literal_unroll((1, 2.5)):
        out[0] += x
