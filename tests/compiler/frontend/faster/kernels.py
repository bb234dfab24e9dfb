"""Kernels of many kinds, with their signatures: whatever compiles them must make the same of each in every way."""

from __future__ import annotations

import math
import operator
from functools import reduce

import numpy as np

from gridjit import cuda

RECORD = np.dtype([("a", np.float32), ("b", np.int64), ("c", np.float64, (3,))])
TABLE = np.array([[1.5, 2.5], [3.5, 4.5]])


def floats(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2.0 * x[i] + y[i] / 3 - x[i] ** 2 + x[i] % 2.5 - (-x[i])


def integers(x, y):
    i = cuda.grid(1)
    if 0 <= i < len(x):
        y[i] = (x[i] ^ (x[i] >> 3)) * 31 + (i & 7 | 2) - x[i] // 3 + (~x[i] << 2) % 5


def mixed(x, n, a):
    i = cuda.grid(1)
    x[i] += a * n + True - (n > a) + (n != 3) * np.float32(a) + np.int8(n)


def conditions(x, y):
    i = cuda.grid(1)
    if not x[i] or (y[i] and x[i] < y[i] <= 4):
        y[i] = 1 if x[i] is not None else 2
    elif x[i] == y[i]:
        y[i] = 3


def loops(x, y):
    total = 0.0
    for i in range(1, x.size, 2):
        if x[i] < 0:
            continue
        for j, value in enumerate(x):
            if j > i:
                break
            total += value
    n = 10
    while n:
        n -= 1
        for a, b in zip(x, y):  # noqa: B905  # numba knows no strict
            total += a * b
    y[0] = total


def chained(u, v):
    k, j, i = cuda.grid(3)
    if 1 <= k < u.shape[0] - 1 and j < u.shape[1]:
        for m in range(5):
            v[k][j][i][m] = v[k, j, i, m] + u[k - 1][j][i][m] * 2.0 - u[k, j, i + 1][m] + u[k, j][i, m]


def slices(u, v):
    row = u[1:, ::2]
    v[0] = row[0, 0] + u[-1].sum() if row.shape[0] > 1 else u[0, ...][1]
    v[1:3] = 4.0
    v[3] = u.T[1, 0] + u.strides[0] + u.ndim + u.itemsize


def mathematics(x, y):
    i = cuda.grid(1)
    y[i] = math.sqrt(x[i]) + math.erfc(x[i]) * math.log(x[i]) + math.hypot(x[i], 2) + np.sin(x[i]) + math.pi
    y[i] += math.floor(x[i]) + math.fmod(x[i], 2) + math.pow(x[i], 3) + np.cos(x[i]) + math.isnan(x[i])


def builtins(x, y):
    i = cuda.grid(1)
    y[i] = (
        min(x[i], y[i], 3.0) + max(x[i], 2) + abs(x[i]) + round(x[i]) + divmod(i, 7)[1] + int(x[i]) + float(i) + bool(i)
    )


def tuples(x, y):
    pair = (x[0], 1, 2.5)
    first, second, third = pair
    total = first + second - third
    for item in (x[0], x[1], x[2]):
        total += item
    nested = ((1, 2.0), (x[0], 4))
    y[0] = total + nested[1][0] + (1, 2, 3)[2] + pair[-1]


def complexes(x, y):
    z = complex(x[0], 2) * 1j + x[1]
    y[0] = abs(z) + z.real - z.conjugate().imag


def shared_memory(x, y):
    tile = cuda.shared.array((8, 9), np.float32)
    scratch = cuda.local.array(4, np.int32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    tile[i, j] = x[i, j]
    scratch[i % 4] = i
    cuda.syncthreads()
    y[j, i] = tile[j, i] + scratch[0]


def atomics(x, y):
    i = cuda.grid(1)
    cuda.atomic.add(y, 0, x[i])
    cuda.atomic.max(y, 1, x[i])
    cuda.atomic.cas(x, 2, 3, 4)
    cuda.threadfence()


def warps(x, y):
    mask = cuda.activemask()
    value = cuda.shfl_down_sync(mask, x[cuda.laneid], 1)
    cuda.syncwarp()
    y[cuda.threadIdx.x] = value + cuda.popc(mask) + cuda.ballot_sync(mask, value > 0) + cuda.clz(mask) + cuda.ffs(mask)


def grids(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i] + cuda.blockIdx.x * cuda.blockDim.y + cuda.gridDim.z + cuda.warpsize


def records(x, y):
    i = cuda.grid(1)
    y[i] = x[i].a + x[i]["b"] + x[i].c[1]
    x[i].b = 3


def constants(x, y):
    table = cuda.const.array_like(TABLE)
    y[0] = table[x[0], 1] + TABLE[1, 0]


def halves(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * x[i] + y[i] if x[i] > y[i] else -x[i]


def vectors(x, y):
    v = cuda.float32x4(x[0], x[1], 2.0, 3.0)
    y[0] = v.x + v.w * cuda.fma(v.y, v.z, x[0]) + cuda.float64x2(x[0], 1).y


def operators(x, y):
    y[0] = operator.add(x[0], 2) + operator.truediv(x[1], 3) + operator.neg(x[0])
    y[1] = -x[0] + +x[1]


def raising(x, y):
    if x[0] > 1:
        raise ValueError("too large")
    assert y[0] < 3
    print("value", x[0], y[0])


def matching(x, y):
    kind = "a" if len(x) > 3 else "b"
    y[0] = 1 if kind == "a" else 2
    y[1] = len("abc") + (3 in (1, 2, 3))


@cuda.jit(device=True)
def innermost(a, b):
    return (a + b) * 2 if a > b else a - b


@cuda.jit(device=True)
def middle(a, b=3):
    return innermost(a, b) + innermost(b, 2.0) + (a if a > 2 else innermost(1, 1))


@cuda.jit(device=True)
def maybe(a):
    if a > 2:
        return None
    return a


@cuda.jit(device=True, inline="always")
def inlined(a):
    return min(a, 7) + 1


def calls(x, y):
    y[0] = middle(x[0]) + middle(x[1], 2) + middle(b=x[2], a=1) + inlined(x[0])
    found = maybe(x[0])
    if found is not None:
        y[1] = found


def straight(x, y):
    a, b, c = x[0], x[1], x[2]
    p = a * b - c
    q = p * a + b
    p = q / c - p
    q = p * p + a * q
    a = p - q
    b = a * c + p
    y[0] = a + b + c + p + q
    y[1] = a * b * c * p * q
    y[2] = a


def closures(x, y):
    def shifted(a):
        return a * 2 + x[0]

    total = 0.0
    for i in range(3):
        total += shifted(y[i])
    y[0] = reduce(lambda a, b: a - b * 3, x, total)


def named_reduce(x, y):
    reduce = math.sqrt
    y[0] = reduce(x[0])


def listed(x, y):
    table = np.array([1.5, x[0], 2.5])
    y[0] = table[1] + table[2]


def comprehended(x, y):
    table = np.array([x[0] * i for i in range(4)])
    y[0] = table[1]


_F, _I, _D = "float32[::1]", "int64[::1]", "float64[::1]"

# Function, signature.
KERNELS = (
    (floats, f"void({_F}, {_F})"),
    (floats, f"void({_D}, {_F})"),
    (integers, f"void({_I}, {_I})"),
    (integers, "void(uint8[:], int32[:])"),
    (mixed, f"void({_D}, int32, float32)"),
    (mixed, f"void({_F}, uint64, int64)"),
    (conditions, f"void({_I}, {_D})"),
    (loops, f"void({_D}, {_D})"),
    (loops, f"void({_I}, {_F})"),
    (chained, "void(float64[:, :, :, ::1], float64[:, :, :, :])"),
    (chained, "void(float32[:, :, :, ::1], float32[:, :, :, ::1])"),
    (mathematics, f"void({_D}, {_D})"),
    (mathematics, f"void({_F}, {_F})"),
    (builtins, f"void({_D}, {_D})"),
    (builtins, f"void({_I}, {_D})"),
    (tuples, f"void({_D}, {_D})"),
    (complexes, f"void({_D}, {_D})"),
    (shared_memory, "void(float32[:, ::1], float32[:, ::1])"),
    (atomics, "void(int32[::1], int32[::1])"),
    (warps, "void(int32[::1], int32[::1])"),
    (grids, f"void({_D}, {_D})"),
    (constants, f"void({_I}, {_D})"),
    (vectors, f"void({_F}, {_F})"),
    (operators, f"void({_I}, {_D})"),
    (raising, f"void({_D}, {_D})"),
    (matching, f"void({_D}, {_D})"),
    (calls, f"void({_D}, {_D})"),
    (calls, f"void({_I}, {_D})"),
    (straight, f"void({_D}, {_D})"),
    (halves, "void(float16[::1], float16[::1])"),
    (closures, f"void({_D}, {_D})"),
    (named_reduce, f"void({_D}, {_D})"),
)
# What does not compile, with the signature.
WRONG = (
    (floats, "void(float32[::1], int64)"),
    (mathematics, "void(float32[:, ::1], float32[::1])"),
    (chained, "void(float64[:, ::1], float64[:, ::1])"),
    (builtins, "void(complex128[::1], complex128[::1])"),
    (integers, "void(float32[::1], float32[::1])"),
    (listed, f"void({_D}, {_D})"),
    (comprehended, f"void({_D}, {_D})"),
)
