"""Values: of types for which an operation does not exist, or of shapes that are not known."""

# mypy: ignore-errors
# ruff: noqa

import numpy as np
from numba import float32

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake


ARR = np.arange(3.0)


OBJARR = np.array([object()], dtype=object)


@mistake(FLOATS)
def shared_blockdim(out):
    s = cuda.shared.array(cuda.blockDim.x, float32)
    s[cuda.threadIdx.x] = 1
    out[0] = s[0]


@mistake(FLOATS)
def shared_math(out):
    s = cuda.shared.array(cuda.blockDim.x * 2, dtype=float32)


@mistake(FLOATS)
def shared_griddim(out):
    s = cuda.shared.array(shape=(cuda.gridDim.y, 3), dtype=float32)


@mistake("void(float32[::1], int64)")
def shared_arg(out, n):
    s = cuda.shared.array(n, float32)
    s[0] = 1
    out[0] = s[0]


@mistake(FLOATS)
def shared_size(out):
    s = cuda.shared.array(out.size, float32)
    s[0] = 1
    out[0] = s[0]


@mistake(FLOATS)
def shared_shape_tuple(out):
    s = cuda.shared.array((out.shape[0], 2), float32)
    s[0, 0] = 1


@mistake(FLOATS)
def local_arg(out):
    n = len(out)
    s = cuda.local.array(n, float32)
    s[0] = 1


@mistake(FLOATS)
def shared_float(out):
    s = cuda.shared.array(3.5, float32)


@mistake(FLOATS)
def shared_list(out):
    s = cuda.shared.array([3, 4], float32)


@mistake(FLOATS)
def shared_dtype_str(out):
    s = cuda.shared.array(32, "float33")
    s[0] = 1


@mistake(FLOATS)
def shared_no_dtype(out):
    s = cuda.shared.array(32)
    s[0] = 1


@mistake(FLOATS)
def shared_dtype_pyfloat(out):
    s = cuda.shared.array(3, dtype=float)
    s[0] = 1


@mistake(FLOATS)
def shared_alloc(out):
    s = cuda.shared(3, float32)


@mistake(FLOATS)
def float_plus_array(out):
    out[0] = out + 1.0


@mistake("void(float32[::1], float32[::1])")
def array_assign(out, x):
    out[0] = x


@mistake("void(int32[::1], complex64)")
def wrong_dtype(out, c):
    out[0] = c


@mistake(FLOATS)
def string_assign(out):
    out[0] = "hello"


@mistake(FLOATS)
def none_assign(out):
    out[0] = None


@mistake(FLOATS)
def object_array(out):
    out[0] = OBJARR[0]


@mistake(FLOATS)
def global_array_write(out):
    ARR[0] = 1


@mistake(FLOATS)
def tuple_set(out):
    t = (1, 2)
    t[0] = 3


@mistake("void(float32[::1], float32)")
def index_scalar(out, x):
    out[0] = x[0]


@mistake(FLOATS)
def index_float(out):
    out[1.5] = 1


@mistake(FLOATS)
def index_too_many(out):
    out[0, 1] = 1


@mistake("void(float32[:,::1])")
def index_too_few(out):
    out[0] = 1.0
    x = out[0] + 1


@mistake("void(float32[:,::1])")
def tuple_out_of_range(out):
    out[0, 0] = out.shape[2]


@mistake("void(float32[::1], int64)")
def tuple_dyn_index(out, n):
    t = (1, 2.0, out)
    out[0] = t[n]


@mistake(FLOATS)
def bool_array(out):
    if out > 0:
        out[0] = 1


@mistake(FLOATS)
def add_none(out):
    out[0] = None + 1


@mistake("void(float64[::1])")
def bitand_float(out):
    out[0] = out[0] & 1


@mistake(FLOATS)
def print_percent(out):
    print("%d" % 3)


@mistake(FLOATS)
def unify2(out):
    x = 0
    if out[0] > 0:
        x = cuda.local.array(3, float32)
    out[0] = x


@mistake(FLOATS)
def tuple_append(out):
    t = ()
    for i in range(3):
        t = t + (i,)
    out[0] = t[0]


@mistake("void(float32[:,::1])")
def grid_unpack(out):
    i, j, k = cuda.grid(2)
    out[i, j] = k


@mistake(FLOATS)
def for_over_list(out):
    for x in [out, 3]:
        out[0] = x


@mistake(FLOATS)
def unpacked_scalar(out):
    a, b = out[0]
    out[0] = a


@mistake(FLOATS)
def index_text(out):
    out["a"] = 1


RECORDS = np.zeros(3, dtype=[("a", "f4"), ("total", "i4")])


@mistake(FLOATS)
def field_missing(out):
    out[0] = RECORDS[0]["totl"]


@mistake(FLOATS)
def field_read(out):
    out[0] = RECORDS[0].c


@mistake(FLOATS)
def attribute_set(out):
    out.x = 3


@mistake(FLOATS)
def deleted_undefined(out):
    del zz


@mistake(FLOATS)
def shared_negative(out):
    s = cuda.shared.array(-4, float32)
    s[0] = out[0]
    out[1] = s[0]


@mistake(FLOATS)
def local_negative(out):
    s = cuda.local.array((4, -1), float32)
    out[1] = s[0, 0]


@mistake("void(float32[:,::1])")
def index_by_mask(out):
    out[out > 0] = 0


@mistake(FLOATS)
def index_by_list(out):
    out[[0, 1]] = 0


@mistake(FLOATS)
def index_by_thread(out):
    out[cuda.threadIdx] = 1


@mistake(FLOATS)
def function_assigned(out):
    out[0] = cuda.gridsize


@mistake(
    "void(Record([('px', {'type': float32, 'offset': 0}), ('py', {'type': float32, 'offset': 4})], 8, False)[::1])"
)
def argument_field(out):
    out[0]["pz"] = 1


@mistake(FLOATS)
def thread_assigned(out):
    cuda.threadIdx.x = 4


@mistake(FLOATS)
def atomic_tuple_index(out):
    cuda.atomic.add(out, (0, 0), 1)


@mistake(FLOATS)
def far_to_the_right(out):
    out[0] = out[0] + out[1] + out[2] + out[3] + out[4] + out[5] + out[6] + out[7] + out[8] + out[9] + out[10] + absent


@mistake("void(int64[::1])")
def halved_in_place(out):
    out[cuda.threadIdx.x] /= 2


@mistake(FLOATS)
def shape_unpack(out):
    rows, columns = out.shape


@mistake(FLOATS)
def number_indexed(out):
    count = 3
    out[0] = count[0]
