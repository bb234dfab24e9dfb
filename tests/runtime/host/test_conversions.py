"""Floats that an integer's type does not hold become what a GPU makes of them."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")

TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
VALUES = (3e9, -3e9, 1e30, -1e30, np.inf, -np.inf, np.nan, -1.0, -0.5, 300.7, 40000.5, -12.9, 2.0**63, -(2.0**31) - 512)


@gridjit.jit
def convert(x, i8, u8, i16, u16, i32, u32, i64, u64):
    i = cuda.grid(1)
    if i < x.size:
        i8[i], u8[i] = np.int8(x[i]), np.uint8(x[i])
        i16[i], u16[i] = np.int16(x[i]), np.uint16(x[i])
        i32[i], u32[i] = np.int32(x[i]), np.uint32(x[i])
        i64[i], u64[i] = np.int64(x[i]), np.uint64(x[i])


def converted_by_ptx(value, kind, source):
    """Return what PTX's cvt.rzi makes of a number; of integers of 8 bits, it makes 16 and keeps 8."""
    info, bits = np.iinfo(kind), max(np.iinfo(kind).bits, 16)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if info.min < 0 else (0, 2**bits - 1)
    if np.isnan(value):
        made = 2 ** (bits - 1) if source == np.float64 or bits == 64 else 0
    else:
        made = min(max(int(np.clip(value, -1e30, 1e30)), low), high)
    kept = made % 2**info.bits
    return kept - 2**info.bits if kept > info.max else kept


@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_numbers_out_of_range_and_nan_become_the_integers_that_a_gpu_makes_of_them(source):
    x = np.array(VALUES, source)
    made = [np.zeros(x.size, kind) for kind in TYPES]
    convert[1, 32](x, *made)
    for kind, got in zip(TYPES, made, strict=True):
        assert got.tolist() == [converted_by_ptx(float(value), kind, source) for value in x], kind
