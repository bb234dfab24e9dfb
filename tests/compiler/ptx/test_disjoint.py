"""Kernels whose loads wait for stores have a second body, which launches of arrays that do not overlap take."""

# mypy: ignore-errors
from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.ptx import disjoint, nvptx
from gridjit.compiler.values.options import Options
from tests.toolkit import needs_toolkit

pytestmark = [
    *needs_toolkit(bitcode=True),
    pytest.mark.skipif(bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older"),
]
TWO = "void(float32[::1], float32[::1])"


@pytest.fixture(autouse=True)
def by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_CODEGEN", "llvm")


def ptx(function: Any, signature: str = TWO, **options: Any) -> str:
    kernel = gridjit.jit(function, cache=False, **options)
    return str(kernel.compile(signature, config=(8, 128), target="sm_90").assembly)


def has_second_body(text: str) -> bool:
    assert not re.search(r"_disjoint(?:\(|_param)", text)
    return "bra $overlap_" in text


def eight(x, out):
    first = cuda.grid(1) * 8
    for i in range(8):
        out[first + i] = x[first + i] + np.float32(1)


def several(x, y, out, sums):
    first = cuda.grid(1) * 8
    for i in range(8):
        sums[first + i] = x[first + i] + y[first + i]
        out[first + i] = x[first + i] * y[first + i]


def test_one_body_loads_through_the_cache_for_constants_and_the_other_in_order() -> None:
    text = ptx(eight)
    assert has_second_body(text)
    second, first = text.split("$overlap_")[1:]
    assert (second.count("ld.global.nc."), second.count("ld.global.b32")) == (8, 0)
    assert (first.count("ld.global.nc."), first.count("ld.global.b32")) == (0, 8)
    orders = [[kind[0] for kind in re.findall(r"\b(ld|st)\.global", body)] for body in (first, second)]
    assert orders[0] == ["l", "s"] * 8


def test_each_array_that_is_written_is_compared_with_each_other_one_once() -> None:
    text = ptx(several, "void(float64[::1], float64[::1], float64[::1], float64[::1])")
    compared = re.findall(r"setp\.lt\.u64 %below, %begin(\d+), %end(\d+);", text)
    x, y, out, sums = range(0, 28, 7)
    assert {frozenset(map(int, one)) for one in compared} == {
        frozenset(one) for one in [(out, x), (out, y), (out, sums), (sums, x), (sums, y)]
    }
    assert len(compared) == 5


def test_arrays_are_compared_whose_stores_do_nothing_without_overlap() -> None:
    def restores(x, y, out):
        first, old = cuda.grid(1) * 8, x[1]
        for i in range(8):
            out[first + i] = x[first + i] + y[first + i]
        x[1] = old + np.float32(5)
        now = y[0]
        x[1] = old
        y[0] = now

    text = ptx(restores, "void(float32[::1], float32[::1], float32[::1])")
    assert "setp.lt.u64 %below, %begin0, %end7;" in text


def test_numbers_between_the_arrays_are_counted() -> None:
    def scaled(x, factor, shift, out):
        first = cuda.grid(1) * 4
        for i in range(4):
            out[first + i] = x[first + i] * factor + shift.real

    text = ptx(scaled, "void(float64[::1], int8, complex128, float64[::1])")
    begins = re.findall(r"ld\.param\.b64 %begin\d+, \[\w+_param_(\d+)\]", text)
    entry = re.search(r"\.entry (\w+)\(", text)[1]
    pointers = re.findall(rf"\.param \.u64 \.ptr[^\n]* {entry}_param_(\d+)", text)
    assert begins == [pointers[2], pointers[5]]


def with_barrier(x, out):
    eight_of(x, out)
    cuda.syncthreads()
    eight_of(x, out)


def with_atomics(x, out):
    eight_of(x, out)
    cuda.atomic.add(out, 0, 1)


def with_fence(x, out):
    eight_of(x, out)
    cuda.threadfence()


def with_shuffle(x, out):
    eight_of(x, out)
    out[0] = cuda.shfl_sync(0xFFFFFFFF, x[0], 0)


def with_print(x, out):
    eight_of(x, out)
    print(x[0])


@cuda.jit(device=True)
def eight_of(x, out):
    first = cuda.grid(1) * 8
    for i in range(8):
        out[first + i] = x[first + i] + np.float32(1)


def calls(x, out):
    eight_of(x, out)


def calls_mathematics(x, out):
    first = cuda.grid(1) * 8
    for i in range(8):
        out[first + i] = math.sqrt(x[first + i])


def with_local_array(x, out):
    items = cuda.local.array(64, np.float32)
    for i in range(8):
        items[int(x[i])] = x[i]
    for i in range(8):
        out[i] = x[i] + x[i + 1]
    out[8] = items[int(x[8])]


def once(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def in_place(x):
    first = cuda.grid(1) * 8
    for i in range(8):
        x[first + i] += np.float32(1)


@pytest.mark.parametrize("function", [calls, calls_mathematics], ids=lambda one: one.__name__)
def test_functions_that_are_called_count_with_the_kernel(function: Any) -> None:
    assert has_second_body(ptx(function))


@pytest.mark.parametrize(
    "function", [with_barrier, with_atomics, with_fence, with_shuffle, with_print], ids=lambda one: one.__name__
)
def test_kernels_whose_threads_may_meet_have_one_body(function: Any) -> None:
    assert not has_second_body(ptx(function))


def test_a_kernel_with_local_arrays_has_one_body_and_its_stack_once() -> None:
    made = gridjit.jit(with_local_array, cache=False).compile(TWO, target="sm_90")
    assert not has_second_body(made.assembly)
    assert made.resources["local_bytes"] == 64 * 4


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (once, TWO),
        (in_place, "void(float32[::1])"),
        (eight, "void(float32[:], float32[::1])"),
        (eight, "void(float32[::1], CPointer(float32))"),
    ],
    ids=["no load after the store", "one array", "an array with gaps", "a pointer"],
)
def test_kernels_that_gain_nothing_or_whose_memory_is_not_known_have_one_body(function: Any, signature: str) -> None:
    assert not has_second_body(ptx(function, signature))


@pytest.mark.parametrize("options", [{"lineinfo": True}, {"debug": True, "opt": False}, {"opt": False}, {"lto": True}])
def test_code_to_look_at_or_of_other_makers_has_one_body(options: dict[str, bool]) -> None:
    assert not has_second_body(ptx(eight, **options))


def test_long_kernels_are_not_compiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disjoint, "_LONGEST", 100)
    assert not has_second_body(ptx(eight))


def test_both_bodies_have_the_bounds_that_are_given() -> None:
    text = ptx(eight, launch_bounds=(128, 2))
    assert has_second_body(text)
    assert (text.count(".maxntid 128"), text.count(".minnctapersm 2"), text.count(".entry ")) == (1, 1, 1)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_kernels_of_two_bodies_are_assembled_for_each_architecture(arch: str) -> None:
    made = gridjit.jit(eight, cache=False).compile(TWO, target=arch)
    assert has_second_body(made.assembly)
    assert made.resources["registers"] > 0
