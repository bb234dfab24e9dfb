"""Code that stands twice, for arrays that do not overlap and for ranges that begin at 0 or later, is right."""

# mypy: ignore-errors
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.ptx import nvptx
from gridjit.compiler.values.options import Options

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older"),
]


def increments(x, out):
    for i in range(8):
        out[i] = x[i] + np.float32(1)


def twice(x, out, sums):
    for i in range(8):
        out[i] = x[i] + np.float32(1)
        sums[i] = x[i] + out[i]


@pytest.mark.parametrize("by", [-8, -7, -1, 0, 1, 2, 7, 8, 100])
def test_arrays_that_overlap_are_written_and_read_in_order(by: int) -> None:
    kernel = gridjit.jit(increments)
    memory = np.arange(300, dtype=np.float32)
    device = cuda.to_device(memory)
    kernel[1, 1](device[100:108], device[100 + by : 108 + by])
    increments(memory[100:108], memory[100 + by : 108 + by])
    assert "bra $overlap_" in next(iter(kernel.inspect_asm().values()))
    np.testing.assert_array_equal(device.copy_to_host(), memory)


@pytest.mark.parametrize("out", [-3, 0, 4, 50])
@pytest.mark.parametrize("sums", [-5, 0, 3, 60])
def test_each_pair_of_arrays_may_overlap(out: int, sums: int) -> None:
    memory = np.arange(300, dtype=np.float32)
    device = cuda.to_device(memory)
    places = [slice(100 + by, 108 + by) for by in (0, out, sums)]
    gridjit.jit(twice)[1, 1](*(device[place] for place in places))
    twice(*(memory[place] for place in places))
    np.testing.assert_array_equal(device.copy_to_host(), memory)


def test_one_array_may_be_given_twice_to_be_read() -> None:
    def added(x, y, out):
        for i in range(8):
            out[i] = x[i] + y[i]

    x, out = cuda.to_device(np.arange(8.0)), cuda.device_array(8)
    gridjit.jit(added)[1, 1](x, x, out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.arange(8.0))


def sums(first, stop, x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for at in range(first[i], stop[i]):
            total += x[at] * (at + 1)
        out[i] = total


def steps(first, stop, x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for at in range(first[i], stop[i], 3):
            if x[at] < 2:
                continue
            if x[at] > 40:
                break
            total += x[at] * at
        out[i] = total


def nested(first, stop, x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        for at in range(first[i], stop[i]):
            for other in range(at, stop[i], 2):
                total += x[at] * x[other] + other
            for other in range(first[i] - 1, at):
                x[other] += 0.0
                total -= other
        out[i] = total


def updates(first, stop, x, out):
    i = cuda.grid(1)
    if i < out.size:
        for at in range(first[i], stop[i]):
            cuda.atomic.add(out, i, x[at])


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("function", [sums, steps, nested, updates])
def test_ranges_that_begin_below_zero_at_it_or_above_count_the_same(function: Any, kind: Any) -> None:
    rng = np.random.default_rng(3)
    low = 0 if np.dtype(kind).kind == "u" else -20
    first = rng.integers(low, 30, 1000).astype(kind)
    stop = np.clip(first.astype(np.int64) + rng.integers(-3, 12, 1000), low, 39).astype(kind)
    x = rng.integers(0, 50, 40).astype(np.float64)
    made = []
    for launch in (gridjit.jit(function), cuda.jit(function)):
        out = cuda.to_device(np.zeros(1000))
        launch[8, 128](cuda.to_device(first), cuda.to_device(stop), cuda.to_device(x), out)
        made.append(out.copy_to_host())
    right = np.zeros(1000)
    plain(function, first, stop, x, right)
    np.testing.assert_array_equal(made[0], right)
    np.testing.assert_array_equal(made[1], right)


def plain(function: Any, first: Any, stop: Any, x: Any, out: Any) -> None:
    """Run a kernel's sum for each of its threads in Python."""
    for i in range(out.size):
        total = 0.0
        begin, end = int(first[i]), int(stop[i])
        if function is sums:
            total = sum(x[at] * (at + 1) for at in range(begin, end))
        elif function is updates:
            total = sum(x[at] for at in range(begin, end))
        elif function is steps:
            for at in range(begin, end, 3):
                if x[at] > 40:
                    break
                total += x[at] * at if x[at] >= 2 else 0
        else:
            for at in range(begin, end):
                total += sum(x[at] * x[other] + other for other in range(at, end, 2))
                total -= sum(range(begin - 1, at))
        out[i] = total
