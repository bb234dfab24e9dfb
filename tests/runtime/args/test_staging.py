"""Copies of host arrays to a device and back: which way, on which stream, sharing memory, and aligned."""

from __future__ import annotations

import ctypes
import sys
import warnings
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.direction import In, InOut, Out
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.environment.warnings import PerformanceWarning
from tests.runtime.standin import StandInKernel


def far_kernel(arity: int) -> StandInKernel:
    return StandInKernel(arity=arity, apart=True)


def on_device(kernel: StandInKernel) -> np.ndarray:
    """Return the array that the last launch's parameters describe, of one dimension and float64."""
    _, _, count, itemsize, address, _, stride = np.frombuffer(kernel.recorder.last.parameters[:56], np.int64).tolist()
    low = min(0, (count - 1) * stride)
    block = (ctypes.c_char * (abs((count - 1) * stride) + itemsize)).from_address(address + low)
    return np.ndarray((count,), np.float64, block, -low, (stride,))


@pytest.mark.parametrize(
    ("wrap", "copies"),
    [(In, ["in 3 on 16"]), (Out, ["out 3 on 16"]), (InOut, ["in 3 on 16", "out 3 on 16"])],
)
def test_an_array_goes_the_way_that_is_said_on_the_launchs_own_stream(wrap: Any, copies: list[str]) -> None:
    kernel = far_kernel(1)
    kernel.configured(stream=16)(wrap(np.ones(3)))
    assert kernel.copies == copies
    assert kernel.recorder.ways == ["python"]


WARNING = "Host array used in CUDA kernel will incur copy overhead: standin: a NumPy array of 24 bytes is copied"


def test_a_plain_array_is_copied_both_ways_with_one_warning_a_kernel() -> None:
    kernel = far_kernel(1)
    with pytest.warns(PerformanceWarning, match=WARNING):
        kernel.configured()(np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.configured()(np.ones(3))
    assert kernel.copies == ["in 3 on 0", "out 3 on 0"] * 2


@pytest.mark.parametrize("index", [slice(None), slice(None, None, 2), slice(None, None, -1)])
def test_what_the_kernel_wrote_comes_back_and_nothing_else_changes(index: slice) -> None:
    kernel = far_kernel(1)
    values = np.arange(6.0)
    expected = values.copy()
    expected[index] += 100

    def work(launched: StandInKernel) -> None:
        array = on_device(launched)
        assert array.tolist() == values[index].tolist()
        array += 100

    kernel.on_launch = work
    kernel.configured()(InOut(values[index]))
    assert values.tolist() == expected.tolist()


def test_arrays_that_share_memory_on_the_host_share_it_on_the_device() -> None:
    kernel = far_kernel(2)
    values = np.zeros(6)

    def work(launched: StandInKernel) -> None:
        first, second = np.frombuffer(launched.recorder.last.parameters, np.int64).reshape(2, 7)
        assert second[4] - first[4] == 8

    kernel.on_launch = work
    kernel.configured()(InOut(values[::2]), InOut(values[1::2]))


def data_addresses(kernel: StandInKernel) -> list[int]:
    """Return where the last launch's arrays, each of one dimension, have their data."""
    return np.frombuffer(kernel.recorder.last.parameters, np.int64).reshape(-1, 7)[:, 4].tolist()


def aligned_bytes(count: int) -> np.ndarray:
    """Return zeros that start where a device's memory would."""
    block = np.zeros(count + 256, np.uint8)
    start = -block.__array_interface__["data"][0] % 256
    return block[start : start + count]


def test_an_unaligned_array_is_aligned_on_the_device_it_is_copied_to() -> None:
    array = aligned_bytes(80)[4:76].view(np.float64)
    handler = handler_of(array)
    assert str(handler.type_of(array, Place())) == "float64[1d C, unaligned]"
    assert str(handler.type_of(array, Place(kind="ptx"))) == "float64[1d C]"
    kernel = far_kernel(1)
    kernel.on_launch = lambda launched: on_device(launched).__iadd__(7)
    kernel.configured()(InOut(array))
    assert data_addresses(kernel)[0] % 8 == 0
    assert array.tolist() == [7.0] * 9


def test_items_that_lie_unevenly_are_unaligned_everywhere() -> None:
    array = np.zeros(3, [("a", "u1"), ("b", "f4")])["b"]
    handler = handler_of(array)
    assert str(handler.type_of(array, Place(kind="ptx"))) == "float32[1d A, unaligned]"
    even = aligned_bytes(16)[1:13].view(np.float32)
    assert handler.kind(array) != handler.kind(even)


def test_what_is_aligned_stays_aligned_beside_an_array_that_overlaps_it() -> None:
    memory = aligned_bytes(48)
    kernel = far_kernel(2)
    kernel.configured()(InOut(memory[3:20]), InOut(memory[8:48].view(np.float64)))
    first, second = data_addresses(kernel)
    assert (second - first, second % 8) == (5, 0)


def test_an_unaligned_array_that_overlaps_another_argument_is_an_error() -> None:
    memory = aligned_bytes(48)
    with pytest.raises(ArgumentError, match=r"argument 'a1' of standin: an unaligned array of float64 .* pass a copy"):
        far_kernel(2).configured()(InOut(memory), InOut(memory[4:44].view(np.float64)))


def test_arrays_that_do_not_overlap_are_kept_apart() -> None:
    memory = aligned_bytes(32).view(np.float64)
    memory[:] = range(4)
    kernel = far_kernel(3)
    kernel.configured()(InOut(memory[:1]), InOut(memory[2:4]), InOut(memory[3:]))
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0]
    first, second, third = data_addresses(kernel)
    assert third - second == 8
    assert abs(second - first) >= 8


def test_a_read_only_array_is_not_copied_back() -> None:
    kernel = far_kernel(1)
    values = np.ones(3)
    values.flags.writeable = False
    kernel.configured()(InOut(values))
    assert kernel.copies == ["in 3 on 0"]


@pytest.mark.parametrize("switch", ["NUMBA_CUDA_WARN_ON_IMPLICIT_COPY=0", "NUMBA_DISABLE_PERFORMANCE_WARNINGS=1"])
def test_numbas_switches_turn_the_warning_of_copies_off(monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.config", None)
    monkeypatch.setenv(*switch.split("="))
    far_kernel(1).configured()(np.ones(3))
