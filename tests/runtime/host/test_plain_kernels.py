"""Kernels without barriers give NumPy's results on the host, for every shape of grid and block."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


def saxpy(n, a, x, y, out):
    i = cuda.grid(1)
    if i < n:
        out[i] = a * x[i] + y[i]


@pytest.mark.parametrize(("grid", "block"), [(1, 1), (1, 128), (4, 32), (5, 100), (8, (8, 4)), (3, 256), (200, 5)])
@pytest.mark.parametrize("n", [0, 1, 97, 500])
def test_saxpy_matches_numpy_for_any_grid_and_length(run, grid, block, n):
    x, y = np.random.default_rng(1).random((2, 500), dtype=np.float32)
    out = np.zeros(500, np.float32)
    run(saxpy, grid, block, n, np.float32(2), x, y, out)
    reached = min(n, grid * (block if isinstance(block, int) else block[0]))
    expected = np.zeros(500, np.float32)
    expected[:reached] = 2 * x[:reached] + y[:reached]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def coordinates(out):
    bx, by, bz = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    out[bz, by, bx, tz, ty, tx] = (
        bx + 10 * by + 100 * bz + 1000 * tx + 10000 * ty + 100000 * tz
        + 1000000 * (cuda.gridDim.x + cuda.gridDim.y * cuda.gridDim.z + cuda.blockDim.x * cuda.blockDim.y)
    )  # fmt: skip


@pytest.mark.parametrize(("grid", "block"), [((2, 3, 4), (5, 2, 3)), ((1, 1, 2), (17, 1, 1)), ((3, 2, 1), (1, 1, 8))])
def test_every_thread_of_a_3d_grid_runs_once_and_knows_its_place(run, grid, block):
    out = np.zeros((*grid[::-1], *block[::-1]), np.int64)
    run(coordinates, grid, block, out)
    bz, by, bx, tz, ty, tx = np.indices(out.shape)
    constant = 1000000 * (grid[0] + grid[1] * grid[2] + block[0] * block[1])
    assert np.array_equal(out, bx + 10 * by + 100 * bz + 1000 * tx + 10000 * ty + 100000 * tz + constant)


def stencil(u, v):
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def test_a_two_dimensional_stencil_over_a_ragged_array_matches_numpy(run):
    u = np.random.default_rng(2).random((37, 51))
    v = np.zeros_like(u)
    run(stencil, (5, 7), (8, 8), u, v)
    expected = np.zeros_like(u)
    expected[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    np.testing.assert_allclose(v, expected)


def strided(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i] * 3


def test_grid_stride_loops_and_strided_arrays_reach_every_element(run):
    x = np.arange(2000, dtype=np.int32)[::2]
    out = np.zeros(1000, np.int32)
    run(strided, 3, 64, x, out)
    assert np.array_equal(out, x * 3)


def negative(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[-1 - i] + x[i - x.size]


def test_negative_indices_count_from_the_end(run):
    x = np.arange(100, dtype=np.int64)
    out = np.zeros(100, np.int64)
    run(negative, 2, 64, x, out)
    assert np.array_equal(out, x[::-1] + x)


def integers(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[i, 0] = a[i] // b[i]
        out[i, 1] = a[i] % b[i]
        out[i, 2] = (a[i] << 3) ^ (b[i] >> 1)
        out[i, 3] = max(a[i], b[i]) - min(a[i], b[i])


def test_integer_arithmetic_follows_python(run):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-1000, 1000, 300), rng.integers(1, 50, 300)
    out = np.zeros((300, 4), np.int64)
    run(integers, 3, 128, a, b, out)
    expected = np.stack([a // b, a % b, (a << 3) ^ (b >> 1), np.maximum(a, b) - np.minimum(a, b)], axis=1)
    assert np.array_equal(out, expected)


def scalars(flag, small, half, wide, out):
    if flag:
        out[0] = small + half + wide.real - wide.imag
    else:
        out[0] = -1


def test_scalars_of_every_size_are_read_from_the_packed_parameters(run):
    out = np.zeros(1)
    run(scalars, 1, 1, np.bool_(True), np.int8(-3), np.float32(0.5), np.complex128(7 - 2j), out)
    assert out[0] == -3 + 0.5 + 7 + 2
    run(scalars, 1, 1, np.bool_(False), np.int8(-3), np.float32(0.5), np.complex128(7 - 2j), out)
    assert out[0] == -1


@cuda.jit(device=True)
def scale(value, by):
    return value * by


@cuda.jit(device=True)
def twice(value):
    return scale(value, 2) + scale(value, 0)


def calls_devices(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = twice(x[i])


def test_nested_device_functions_are_linked_and_inlined(run):
    x = np.random.default_rng(4).random(70)
    out = np.zeros(70)
    run(calls_devices, 1, 96, x, out)
    np.testing.assert_allclose(out, 2 * x)


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def recursive(out):
    i = cuda.grid(1)
    out[i] = fibonacci(i)


@pytest.mark.filterwarnings("ignore:Context.call_conv is deprecated")
def test_a_recursive_device_function_that_needs_no_position_stays_a_call(run):
    out = np.zeros(10, np.int64)
    run(recursive, 1, 10, out)
    assert out.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def never_recursive(out):
    i = cuda.grid(1)
    if cuda.threadIdx.z > 64 and i != i:
        out[i] = fibonacci(i)
    out[i] += i


@pytest.mark.filterwarnings("ignore:Context.call_conv is deprecated")
def test_a_recursive_device_function_that_nothing_comes_to_is_left_out(run):
    out = np.zeros(10, np.int64)
    run(never_recursive, 1, 10, out)
    assert out.tolist() == list(range(10))


def local_array(x, out):
    i = cuda.grid(1)
    last = cuda.local.array(8, np.float64)
    for k in range(8):
        last[k] = x[i] + k
    total = 0.0
    for k in range(8):
        total += last[(k * i) % 8]
    out[i] = total


def test_local_arrays_belong_to_one_thread(run):
    x = np.random.default_rng(5).random(64)
    out = np.zeros(64)
    run(local_array, 2, 32, x, out)
    expected = [sum(x[i] + (k * i) % 8 for k in range(8)) for i in range(64)]
    np.testing.assert_allclose(out, expected)


TABLE = np.array([3.0, 1.0, 4.0, 1.0, 5.0])


def constants(out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    out[i] = table[i % 5]


def test_constant_arrays_are_part_of_the_code(run):
    out = np.zeros(20)
    run(constants, 1, 20, out)
    assert np.array_equal(out, np.tile(TABLE, 4))


def lanes(out):
    i = cuda.grid(1)
    out[i] = cuda.laneid + 100 * cuda.warpsize


def test_a_lane_is_the_position_in_a_group_of_32(run):
    out = np.zeros(96, np.int64)
    run(lanes, 1, (48, 2), out)
    assert np.array_equal(out[:48], np.where(True, out[:48], 0))
    assert set(out[:48] - 3200) == {i % 32 for i in range(48, 96)} | set(range(32))


UNARY = [
    "ceil", "floor", "fabs", "exp", "expm1", "erf", "erfc", "gamma", "lgamma", "sqrt", "log", "log2", "log10",
    "log1p", "cos", "cosh", "asinh", "sin", "sinh", "atan", "tan", "tanh", "trunc", "exp2",
]  # fmt: skip


def unary_kernel(name):
    function = getattr(math, name)

    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i])

    return kernel


@pytest.mark.each_value_once
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name in UNARY if hasattr(math, name)])
def test_a_mathematical_function_agrees_with_python_also_where_it_is_vectorized(run, name, dtype):
    x = np.random.default_rng(6).uniform(0.1, 4, 200).astype(dtype)
    out = np.zeros_like(x)
    run(unary_kernel(name), 2, 128, x, out)
    expected = [getattr(math, name)(float(value)) for value in x]
    np.testing.assert_allclose(
        out, expected, rtol=3e-6 if dtype is np.float32 else 1e-13, atol=1e-6 if dtype is np.float32 else 1e-14
    )


def unit_interval(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.acos(x[i])
        out[1, i] = math.asin(x[i])
        out[2, i] = math.atanh(x[i])
        out[3, i] = math.acosh(1 + x[i])


def test_the_inverse_functions_agree_with_python(run):
    x = np.random.default_rng(7).uniform(0, 0.99, 100)
    out = np.zeros((4, 100))
    run(unit_interval, 1, 128, x, out)
    np.testing.assert_allclose(out, [np.arccos(x), np.arcsin(x), np.arctanh(x), np.arccosh(1 + x)], rtol=1e-12)


def binary(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = math.pow(x[i], y[i])
        out[1, i] = math.atan2(x[i], y[i])
        out[2, i] = math.hypot(x[i], y[i])
        out[3, i] = math.fmod(x[i], y[i])
        out[4, i] = math.copysign(x[i], -y[i])
        out[5, i] = math.remainder(x[i], y[i])
        out[6, i] = x[i] ** 3
        out[7, i] = math.ldexp(x[i], 3)
        fraction, whole = math.modf(x[i])
        out[8, i] = fraction + 10 * whole
        mantissa, exponent = math.frexp(x[i])
        out[9, i] = mantissa + exponent
        out[10, i] = math.degrees(x[i]) + math.radians(y[i])
        out[11, i] = round(x[i])


def test_functions_of_two_arguments_and_results_agree_with_numpy(run):
    x, y = np.random.default_rng(8).uniform(0.5, 9, (2, 90))
    out = np.zeros((12, 90))
    run(binary, 1, 96, x, y, out)
    whole = np.trunc(x)
    mantissa, exponent = np.frexp(x)
    expected = [
        x**y, np.arctan2(x, y), np.hypot(x, y), np.fmod(x, y), -x,
        [math.remainder(a, b) for a, b in zip(x, y, strict=True)],
        x**3, np.ldexp(x, 3), x - whole + 10 * whole, mantissa + exponent, np.degrees(x) + np.radians(y), np.round(x),
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)


def bits(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = cuda.ffs(x[i])
        out[i, 3] = cuda.brev(x[i])
        out[i, 4] = math.isnan(y[i]) + 2 * math.isinf(y[i]) + 4 * math.isfinite(y[i])


def test_bit_counts_and_number_classes(run):
    x = np.array([0, 1, 2**31, 12345, 2**32 - 1], np.uint32)
    y = np.array([0.5, np.nan, np.inf, -np.inf, -1], np.float32)
    out = np.zeros((5, 5), np.int64)
    run(bits, 1, 8, x, y, out)
    words = [f"{int(value):032b}" for value in x]
    expected = [
        [
            word.count("1"),
            len(word) - len(word.lstrip("0")),
            (word[::-1].index("1") + 1) if "1" in word else 0,
            int(word[::-1], 2),
        ]
        for word in words
    ]
    assert out[:, :4].tolist() == expected
    assert out[:, 4].tolist() == [4, 1, 2, 2, 4]


def divides(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.exp(x[i]) / y[i] + math.sin(x[i]) * math.sqrt(y[i])


@pytest.mark.parametrize("fastmath", [False, True])
def test_fastmath_changes_only_the_last_digits(run, fastmath):
    x, y = np.random.default_rng(9).uniform(0.5, 3, (2, 100)).astype(np.float32)
    out = np.zeros(100, np.float32)
    run(divides, 1, 128, x, y, out, options=Options(fastmath=fastmath))
    np.testing.assert_allclose(out, np.exp(x) / y + np.sin(x) * np.sqrt(y), rtol=1e-5)


def halves(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.float16(np.float32(x[i]) * 2)


def test_half_precision_numbers_are_converted(run):
    x = np.linspace(-4, 4, 33).astype(np.float16)
    out = np.zeros(33, np.float16)
    run(halves, 1, 64, x, out)
    assert np.array_equal(out, x * 2)


def smallest(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = min(x[i], np.uint64(i)) + cuda.ffs(x[i])


def test_checked_kernels_may_use_the_operations_that_checks_use(compiled):
    checks = Options(debug=True, checks=("bounds", "uninitialized", "races"))
    assert compiled(smallest, (np.ones(4, np.uint64), np.ones(4, np.uint64)), checks).image


def hinted(x, out):
    i = cuda.grid(1)
    cuda.stcg(out, i, cuda.ldca(x, i) + cuda.ldcg(x, i) + cuda.ldcs(x, i) + cuda.ldlu(x, i) + cuda.ldcv(x, i))
    cuda.stwt(out, i, out[i] + 1)
    cuda.stcs(out, i, out[i] + 1)
    cuda.stwb(out, i, out[i] + 1)


@pytest.mark.some(3)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.float32, np.float64])
def test_loads_and_stores_with_cache_hints_are_loads_and_stores(run, dtype):
    x, out = np.arange(20).astype(dtype), np.zeros(20, dtype)
    run(hinted, 1, 20, x, out)
    np.testing.assert_array_equal(out, x * dtype(5) + dtype(3))


FUNCTIONS = ("exp({})", "sin({}) * math.cos({})", "pow({}, {} + 1)", "log1p({})", "erf({})", "hypot({}, 2 * {})")


@pytest.mark.some(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_functions_result_depends_on_its_argument_alone(run, function, dtype):
    names = {"cuda": cuda, "math": math}
    value = f"math.{function.format('x[i]', 'x[i]')}"
    lines = [
        "i = cuda.grid(1)",
        "if i < x.size:",
        f"    out[i] = {value}",
        "    if x[i] > 0.5:",
        f"        out[i] += {value}",
    ]
    exec("def kernel(x, out):\n" + "".join(f"    {line}\n" for line in lines), names)
    x = np.random.default_rng(0).uniform(0.01, 0.99, 503).astype(dtype)
    found = set()
    for block, shift in ((1, 0), (7, 1), (33, 5), (64, 11), (250, 100)):
        out = np.zeros_like(x)
        run(names["kernel"], -(-x.size // block), block, np.roll(x, shift), out)
        found.add(np.roll(out, -shift).tobytes())
    assert len(found) == 1
