"""Copies within a GPU: one pitched copy where one fits, else one kernel of ours, whose text is interpreted here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridjit import StridedMemoryView
from gridjit.compiler.values.errors import LaunchError
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.devices.cuda.api import copy_kernels, copy_ptx
from gridjit.runtime.devices.cuda.memory import space as cuda_space
from tests.runtime.memory.strided import views

STREAM = 0x50
DTYPES = [np.int8, np.int16, np.float32, np.float64, np.complex128]


def numbered(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def calls(api: Any) -> list[str]:
    """Return the names of the calls that copied."""
    return [name for name, _ in api.calls if name.startswith(("cuMemcpy", "cuLaunchKernel"))]


def on_device(device: Any, values: Any) -> Any:
    return to_device(values, space=device.space)


def new(device: Any, shape: Any, dtype: Any) -> Any:
    return device_array(shape, dtype, space=device.space)


def same(array: Any, wanted: Any) -> bool:
    return bool((array.copy_to_host() == wanted).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 70), (32, 32), (8, 8), (33, 9)])
def test_a_transposed_array_is_copied_by_one_kernel(api: Any, device: Any, dtype: Any, shape: Any) -> None:
    values = numbered(shape, dtype)
    source, out = on_device(device, values), new(device, shape[::-1], dtype)
    api.calls.clear()
    out.copy_to_device(source.T, STREAM)
    assert calls(api) == ["cuLaunchKernel"]
    assert api.called("cuLaunchKernel")[0][8] == STREAM
    assert same(out, values.T)


CASES = {
    "contiguous": (lambda a: a, "cuMemcpyAsync"),
    "rows": (lambda a: a[:, 1:, 2:], "cuMemcpy3DAsync"),
    "columns": (lambda a: a[..., :3], "cuMemcpy2DAsync"),
    "reversed": (lambda a: a[::-1, ::-1, ::-1], "cuLaunchKernel"),
    "every second": (lambda a: a[:, ::2, ::3], "cuLaunchKernel"),
    "other order": (lambda a: a.transpose(2, 0, 1), "cuLaunchKernel"),
}


@pytest.mark.parametrize("name", CASES)
def test_any_layout_is_one_call_of_the_driver(api: Any, device: Any, name: str) -> None:
    view, call = CASES[name]
    values = numbered((10, 12, 14), np.float32)
    source, wanted = view(on_device(device, values)), view(values)
    out = new(device, wanted.shape, np.float32)
    api.calls.clear()
    out.copy_to_device(source, STREAM)
    assert calls(api) == [call]
    assert same(out, wanted)


def test_a_view_that_repeats_items_is_one_call_of_the_driver(api: Any, device: Any) -> None:
    values = numbered((1, 14), np.float32)
    source, out = StridedMemoryView(on_device(device, values)), new(device, (12, 14), np.float32)
    api.calls.clear()
    StridedMemoryView(out).copy_from(source.view(source.layout.broadcast_to((12, 14))), STREAM)
    assert calls(api) == ["cuLaunchKernel"]
    assert same(out, np.broadcast_to(values, (12, 14)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_view_is_copied_into_any_other_in_one_call(api: Any, device: Any, data: Any) -> None:
    source = data.draw(views())
    held = on_device(device, source.copy())
    order = tuple(data.draw(st.permutations(range(source.ndim))))
    steps = data.draw(st.tuples(*[st.sampled_from([1, 2, -1, -3])] * source.ndim))
    room = new(device, [count * abs(step) for count, step in zip(source.shape, steps, strict=True)], source.dtype)
    out = room[(*(slice(None, None, step) for step in steps), ...)].transpose(order)
    api.calls.clear()
    out.copy_to_device(held.transpose(order), STREAM)
    assert len(calls(api)) == (1 if source.size else 0)
    assert same(out, source.transpose(order))


@pytest.mark.parametrize("itemsize", [3, 6, 12, 24, 40])
def test_items_of_other_sizes_are_copied_in_the_units_that_they_consist_of(
    api: Any, device: Any, itemsize: int
) -> None:
    values = np.arange(20 * 30 * itemsize).astype(np.uint8).view(f"V{itemsize}").reshape(20, 30)
    source, out = on_device(device, values), new(device, (30, 20), values.dtype)
    api.calls.clear()
    out.copy_to_device(source.T, STREAM)
    assert calls(api) == ["cuLaunchKernel"]
    assert out.copy_to_host().tobytes() == values.T.tobytes()


def test_items_that_are_misaligned_are_copied_byte_by_byte(api: Any, device: Any) -> None:
    records = np.zeros((12, 15), np.dtype([("flag", "u1"), ("value", "<f4")]))
    records["value"] = numbered((12, 15), np.float32)
    field, out = on_device(device, records)["value"], new(device, (15, 12), np.float32)
    out.copy_to_device(field.T, STREAM)
    assert same(out, records["value"].T)


def test_runs_are_copied_in_the_widest_units_that_fit() -> None:
    values = numbered((8, 10, 4), np.int32)
    (launch,) = copy_kernels.launches_for(np.empty((10, 8, 4), np.int32), values.transpose(1, 0, 2))
    assert (launch.name, launch.unit) == ("tile", 16)


def test_axes_that_one_launch_has_no_room_for_are_launched_one_by_one(api: Any, device: Any) -> None:
    shape = (2,) * 11
    values = numbered(shape, np.int16)
    source, out = on_device(device, values), new(device, shape, np.int16)
    order = (10, 8, 6, 4, 2, 0, 9, 7, 5, 3, 1)
    api.calls.clear()
    out.copy_to_device(source.transpose(order), STREAM)
    assert set(calls(api)) == {"cuLaunchKernel"}
    assert same(out, values.transpose(order))


def test_narrow_rows_are_a_kernels_where_there_are_many(api: Any, device: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cuda_space, "FEW", 256)
    values = numbered((300,), np.float32)
    source, out = on_device(device, values), new(device, 100, np.float32)
    api.calls.clear()
    out.copy_to_device(source[::3], STREAM)
    assert calls(api) == ["cuLaunchKernel"]
    assert same(out, values[::3])


@pytest.mark.parametrize(
    ("to", "of"),
    [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[:], np.s_[::-1]),
    ],
)
def test_views_that_share_memory_are_copied_as_if_all_was_read_first(api: Any, device: Any, to: Any, of: Any) -> None:
    values = numbered((40, 5), np.float32)
    array = on_device(device, values)
    array[to].copy_to_device(array[of], STREAM)
    wanted = values.copy()
    wanted[to] = values[of]
    assert same(array, wanted)


def test_a_square_is_transposed_in_place(api: Any, device: Any) -> None:
    values = numbered((40, 40), np.float32)
    array = on_device(device, values)
    array.copy_to_device(array.T)
    assert same(array, values.T)


def test_halves_that_interleave_need_no_temporary(api: Any, device: Any) -> None:
    values = numbered((64,), np.float32)
    array = on_device(device, values)
    api.calls.clear()
    array[::2].copy_to_device(array[1::2], STREAM)
    assert len(calls(api)) == 1
    assert array.copy_to_host()[::2].tolist() == values[1::2].tolist()


def test_the_host_is_copied_to_and_from_in_one_piece_and_a_kernel_spreads_it(api: Any, device: Any) -> None:
    values = numbered((10, 12, 14), np.float32)
    array = on_device(device, np.zeros_like(values))
    part, wanted = array[:, ::2, ::3], np.ascontiguousarray(values[:, ::2, ::3])
    api.calls.clear()
    part.copy_to_device(wanted, STREAM)
    assert calls(api) == ["cuMemcpyAsync", "cuLaunchKernel"]
    api.calls.clear()
    assert (part.copy_to_host(stream=STREAM) == wanted).all()
    assert calls(api) == ["cuLaunchKernel", "cuMemcpyAsync"]
    assert array.copy_to_host().sum() == wanted.sum()


def test_temporary_memory_is_freed_in_the_copys_stream(api: Any, device: Any) -> None:
    array = on_device(device, numbered((10, 12, 14), np.float32))
    api.calls.clear()
    array[:, ::2, ::3].copy_to_device(np.ones((10, 6, 5), np.float32), STREAM)
    assert [call[1] for call in api.called("cuMemFreeAsync")] == [STREAM]


def test_kernels_are_finished_when_they_are_first_needed_and_once(api: Any, device: Any) -> None:
    source, out = (
        on_device(device, numbered((40, 40), np.float32)),
        new(device, (40, 40), np.float32),
    )
    assert api.called("cuLibraryLoadData") == []
    for _ in range(3):
        out.copy_to_device(source.T, STREAM)
    assert len(api.called("cuLibraryLoadData")) == 1


@pytest.mark.parametrize("name", ["CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"])
def test_a_driver_that_cannot_finish_kernels_copies_in_other_ways(api: Any, device: Any, name: str) -> None:
    values = numbered((40, 40), np.float32)
    source, out = on_device(device, values), new(device, (40, 40), np.float32)
    api.failures["cuLibraryLoadData"] = name
    out.copy_to_device(source.T, STREAM)
    assert same(out, values.T)


def test_a_stream_that_is_captured_gets_the_kernel_and_is_refused_what_needs_a_temporary(api: Any, device: Any) -> None:
    source, out = (
        on_device(device, numbered((40, 40), np.float32)),
        new(device, (40, 40), np.float32),
    )
    api.capturing.add(STREAM)
    out.copy_to_device(source.T, STREAM)
    assert calls(api)[-1] == "cuLaunchKernel"
    with pytest.raises(LaunchError, match="an array cannot be made while a stream is captured"):
        source.copy_to_device(source.T, STREAM)


def test_views_are_copied_by_the_same_kernels(api: Any, device: Any) -> None:
    values = numbered((12, 20), np.float64)
    source, out = on_device(device, values), new(device, (20, 12), np.float64)
    StridedMemoryView(out).copy_from(StridedMemoryView(source.T), STREAM)
    assert same(out, values.T)


@pytest.mark.each_value_once
@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("unit", copy_ptx.UNITS)
def test_the_kernels_are_ptx_that_nvidias_compiler_takes(unit: int, arch: str) -> None:
    nvjitlink: Any = pytest.importorskip("cuda.bindings.nvjitlink")
    for text in (copy_ptx.tile_ptx(unit), copy_ptx.gather_ptx(unit)):
        linker = nvjitlink.create(1, [f"-arch={arch}"])
        nvjitlink.add_data(linker, nvjitlink.InputType.PTX, text.encode() + b"\0", len(text) + 1, "copy")
        nvjitlink.complete(linker)
        assert nvjitlink.get_linked_cubin_size(linker) > 0
        nvjitlink.destroy(linker)
