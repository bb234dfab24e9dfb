"""Buffers and views in a GPU's memory, against the stand-in for the driver: where memory is, which calls are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridjit import Buffer, StridedLayout, StridedMemoryView
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.memory.copies import address_of

ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"MEMORY_TYPE": 2, "DEVICE_ORDINAL": 0, "IS_MANAGED": 0}, (0, False, True)),
        ({"MEMORY_TYPE": 2, "DEVICE_ORDINAL": 0, "IS_MANAGED": 1}, (0, True, True)),
        ({"MEMORY_TYPE": 1, "DEVICE_ORDINAL": 0, "IS_MANAGED": 0}, (0, True, True)),
    ],
)
def test_the_driver_says_where_anothers_memory_is(
    api: Any, device: Any, said: dict[str, int], expected: tuple[int | None, bool, bool]
) -> None:
    items = ITEMS.copy()
    api.pointers[address_of(items)] = said
    buffer = Buffer.from_handle(address_of(items), items.nbytes, owner=items, space=device.space)
    assert (buffer.device, buffer.is_host_accessible, buffer.is_device_accessible) == expected
    buffer.close()
    assert not api.called("cuMemFreeAsync")


def test_memory_that_the_driver_does_not_know_is_the_hosts(api: Any, device: Any) -> None:
    api.failures["cuPointerGetAttribute"] = "CUDA_ERROR_INVALID_VALUE"
    items = ITEMS.copy()
    buffer = Buffer.from_handle(address_of(items), items.nbytes, owner=items, space=device.space)
    assert (buffer.device, buffer.is_host_accessible, buffer.is_device_accessible) == (None, True, False)
    assert buffer.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(("value", "bits"), [(7, 8), (b"\x01\x02", 16), (b"\x01\x02\x03\x04", 32)])
def test_filling_is_one_call_in_the_stream(api: Any, device: Any, value: int | bytes, bits: int) -> None:
    buffer = Buffer.allocate(8, space=device.space)
    buffer.fill(value, stream=0x40)
    ((address, _, count, stream),) = api.called(f"cuMemsetD{bits}Async")
    assert (address, count, stream) == (buffer.handle, 64 // bits, 0x40)
    out = np.zeros(8, np.uint8)
    StridedMemoryView(buffer).copy_to(out)
    assert out.tobytes() == (bytes([value]) if isinstance(value, int) else value) * (8 * 8 // bits)


def test_closing_in_another_stream_frees_after_its_work(api: Any, device: Any) -> None:
    stream, other = (device.timeline.create_stream() for _ in range(2))
    buffer = Buffer.allocate(8, space=device.space)
    api.calls.clear()
    buffer.close(stream=other)
    names = [name for name, _ in api.calls]
    recorded, waited = names.index("cuEventRecord"), names.index("cuStreamWaitEvent")
    assert recorded < waited < names.index("cuMemFreeAsync")
    assert stream != other


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::2, ::-1], lambda x: x[1:, 2:4]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_items_are_copied_between_layouts_on_the_device_and_with_the_host(device: Any, turn: Any, order: Any) -> None:
    source = StridedMemoryView(turn(to_device(ITEMS, space=device.space)))
    buffer = Buffer.allocate(96, space=device.space)
    layout = StridedLayout.dense(source.shape, 4, order)
    destination = StridedMemoryView.from_buffer(buffer, layout, np.float32)
    destination.copy_from(source)
    out = np.zeros((*source.shape[::-1],), np.float32).T
    destination.copy_to(out)
    assert out.tolist() == turn(ITEMS).tolist()


def test_layouts_of_equal_runs_are_copied_by_pitched_calls_alone(api: Any, device: Any) -> None:
    source = to_device(ITEMS, space=device.space)[:, 1:5]
    buffer = Buffer.allocate(4 * 32, space=device.space)
    destination = StridedMemoryView.from_buffer(buffer, StridedLayout((4, 4), (8, 1), itemsize=4), np.float32)
    api.calls.clear()
    destination.copy_from(source, stream=0x40)
    assert [name for name, _ in api.calls if name.startswith("cuMemcpy")] == ["cuMemcpy2DAsync"]
    assert not api.called("cuStreamSynchronize")
    out = np.zeros((4, 4), np.float32)
    destination.copy_to(out)
    assert out.tolist() == ITEMS[:, 1:5].tolist()
