"""Kernels on the host use floats of 8 and 16 bits as on a GPU: in arrays, in shared memory, and across a warp."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

cuda = numba_cuda()
from numba.cuda._internal import cuda_bf16, cuda_fp8, cuda_fp16  # noqa: E402

fp8_e4m3, fp8_e5m2, fp8_e8m0 = cuda_fp8.fp8_e4m3, cuda_fp8.fp8_e5m2, cuda_fp8.fp8_e8m0
float32, bfloat16 = cuda.float32, cuda.types.bfloat16
int32, uint32 = cuda.int32, cuda.uint32
half_idx, half_up, half_down, half_xor = (
    getattr(cuda_fp16, f"__shfl_{way}sync") for way in ("", "up_", "down_", "xor_")
)
wide_idx, wide_up, wide_down, wide_xor = (
    getattr(cuda_bf16, f"__shfl_{way}sync") for way in ("", "up_", "down_", "xor_")
)
pair_of, low_of, high_of = cuda_bf16.__halves2bfloat162, cuda_bf16.__low2bfloat16, cuda_bf16.__high2bfloat16
CODES = np.arange(256, dtype=np.uint8)


def widened(x, out):
    i = cuda.grid(1)
    out[i] = float32(x[i])


def to_e4m3(x, out):
    i = cuda.grid(1)
    out[i] = fp8_e4m3(x[i])


def to_e5m2(x, out):
    i = cuda.grid(1)
    out[i] = fp8_e5m2(x[i])


@pytest.fixture(scope="module")
def dtypes():
    return pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_arrays_of_floats_of_8_bits_are_read_as_what_they_are(dtypes, name):
    x = CODES.view(getattr(dtypes, name))
    for given in (x, gridjit.cuda.to_device(x)):
        out = np.zeros(256, np.float32)
        gridjit.jit(target="host")(widened)[2, 128](given, out)
        np.testing.assert_array_equal(out, x.astype(np.float32))


@pytest.mark.parametrize(("kernel", "name"), [(to_e4m3, "float8_e4m3fn"), (to_e5m2, "float8_e5m2")])
def test_arrays_of_floats_of_8_bits_are_written_rounded_and_saturated(dtypes, kernel, name):
    dtype = np.dtype(getattr(dtypes, name))
    top = float(dtypes.finfo(dtype).max)
    x = np.linspace(-1.1 * top, 1.1 * top, 1 << 12).astype(np.float32)
    out = np.zeros(x.size, dtype)
    gridjit.jit(target="host")(kernel)[x.size // 128, 128](x, out)
    # ml_dtypes does not saturate.
    np.testing.assert_array_equal(out.view(np.uint8), np.clip(x, -top, top).astype(dtype).view(np.uint8))


def test_bfloat16s_and_floats_of_8_bits_are_kept_across_barriers_by_each_thread():
    @gridjit.jit(target="host")
    def crossed(x, out):
        kept = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        own, small = bfloat16(x[i]), fp8_e4m3(x[i])
        for _ in range(2):
            kept[i] = float32(own)
            cuda.syncthreads()
            own = bfloat16(kept[63 - i] + float32(small))
            cuda.syncthreads()
        out[i] = float32(own)

    x, out = np.arange(64).astype(np.float32) % 16, np.zeros(64, np.float32)
    crossed[1, 64](x, out)
    np.testing.assert_array_equal(out, x + x[::-1] + x)


def test_other_floats_of_8_bits_are_refused_by_name(dtypes):
    with pytest.raises(gridjit.ArgumentError, match=r"float8_e4m3fnuz cannot be passed.*float8_e4m3fn, float8_e5m2"):
        gridjit.jit(target="host")(widened)[1, 1](CODES.view(dtypes.float8_e4m3fnuz), np.zeros(256, np.float32))


@gridjit.jit(target="host")
def halves(x, out, by, width):
    i = cuda.threadIdx.x
    mask = uint32(0xFFFFFFFF)
    out[0, i] = half_idx(mask, x[i], int32(by), int32(width))
    out[1, i] = half_up(mask, x[i], uint32(by), int32(width))
    out[2, i] = half_down(mask, x[i], uint32(by), int32(width))
    out[3, i] = half_xor(mask, x[i], int32(by), int32(width))


@gridjit.jit(target="host")
def bfloats(x, out, by, width):
    i = cuda.threadIdx.x
    mask, own = uint32(0xFFFFFFFF), bfloat16(x[i])
    out[0, i] = float32(wide_idx(mask, own, int32(by), int32(width)))
    out[1, i] = float32(wide_up(mask, own, uint32(by), int32(width)))
    out[2, i] = float32(wide_down(mask, own, uint32(by), int32(width)))
    out[3, i] = float32(wide_xor(mask, own, int32(by), int32(width)))


@gridjit.jit(target="host")
def pairs(x, out, by, width):
    i = cuda.threadIdx.x
    mask, own = uint32(0xFFFFFFFF), pair_of(bfloat16(x[i]), bfloat16(-x[i]))
    got = wide_idx(mask, own, int32(by), int32(width))
    out[0, i] = float32(low_of(got)) - float32(high_of(got))
    got = wide_up(mask, own, uint32(by), int32(width))
    out[1, i] = float32(low_of(got)) - float32(high_of(got))
    got = wide_down(mask, own, uint32(by), int32(width))
    out[2, i] = float32(low_of(got)) - float32(high_of(got))
    got = wide_xor(mask, own, int32(by), int32(width))
    out[3, i] = float32(low_of(got)) - float32(high_of(got))


def shuffled(x, by, width):
    """Return what lanes get from lane `by` of their segment, from those before and after them, and crosswise."""
    lanes = np.arange(x.size) % 32
    first = lanes - lanes % width
    froms = [first + by % width, lanes - by, lanes + by, lanes ^ by]
    bounds = [(0, 31), (first, 31), (0, first + width - 1), (0, first + width - 1)]
    return np.array(
        [
            x[np.where((low <= of) & (of <= high), of, lanes) + (np.arange(x.size) - lanes)]
            for of, (low, high) in zip(froms, bounds, strict=True)
        ]
    )


@pytest.mark.each_value_once
@pytest.mark.parametrize("kernel", [halves, bfloats, pairs])
@pytest.mark.parametrize(("by", "width"), [(0, 32), (5, 32), (3, 8), (9, 16)])
def test_halves_and_bfloat16s_are_shuffled_within_segments_of_a_warp(kernel, by, width):
    x = np.arange(1, 65).astype(np.float16 if kernel is halves else np.float32)
    out = np.zeros((4, 64), x.dtype)
    kernel[1, 64](x, out, by, width)
    np.testing.assert_array_equal(out, shuffled(x, by, width) * (2 if kernel is pairs else 1))


def test_halves_are_summed_by_a_warp():
    @gridjit.jit(target="host")
    def total(x, out):
        i = cuda.threadIdx.x
        value, by = x[i], 16
        while by > 0:
            value = value + half_down(uint32(0xFFFFFFFF), value, uint32(by), int32(32))
            by //= 2
        if i % 32 == 0:
            out[i // 32] = value

    out = np.zeros(2, np.float16)
    total[1, 64](np.arange(64).astype(np.float16), out)
    assert out.tolist() == [np.arange(32).sum(), np.arange(32, 64).sum()]


@gridjit.jit(target="host")
def tells_truth(x, out):
    i = cuda.grid(1)
    if x[i]:
        out[i] = 1
    if not x[i]:
        out[i] += 10
    out[i] += 100 * bool(x[i])


def test_a_float16_is_true_unless_it_is_a_zero():
    x, out = np.array([0.5, 0, -0.0, np.nan, 6e-8], np.float16), np.zeros(5)
    tells_truth[1, 5](x, out)
    assert out.tolist() == [101, 10, 10, 101, 101]


@pytest.mark.cuda_toolkit
def test_a_condition_of_a_float16_compiles_for_a_gpu():
    assert tells_truth.compile("void(float16[::1], float64[::1])", target="sm_90").image
