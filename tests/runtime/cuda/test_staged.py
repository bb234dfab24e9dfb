"""Copies of pageable memory: through page-locked blocks, in their stream's order, and no block is reused in flight."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gridjit.runtime.arrays.create import device_array, pinned_array, to_device
from gridjit.runtime.devices.cuda.api.memory_calls import AT_ONCE_BYTES
from gridjit.runtime.devices.cuda.memory import staged
from gridjit.runtime.process.current import create_stream
from tests.runtime.cuda.conftest import StandIn

MANY = 300_000


@pytest.fixture
def api(api: StandIn) -> StandIn:
    """The stand-in, for which memory that it did not give is pageable."""

    api.failures["cuPointerGetAttribute"] = "CUDA_ERROR_INVALID_VALUE"
    return api


def places(api):
    """Return the page-locked blocks that there are."""
    return api.called("cuMemHostAlloc")


def test_many_items_of_pageable_memory_go_through_page_locked_blocks(api, device):
    values = np.arange(MANY)
    stream = create_stream(timeline=device.timeline)
    there = to_device(values, stream, space=device.space)
    back = there.copy_to_host(stream=stream)
    assert np.array_equal(back, values)
    low, high = values.ctypes.data, values.ctypes.data + values.nbytes
    for destination, source, _, at in api.called("cuMemcpyAsync"):
        assert at == stream.handle
        assert not low <= int(source) < high
        assert not back.ctypes.data <= int(destination) < back.ctypes.data + back.nbytes
    assert not api.called("cuMemcpy")


def test_few_items_are_copied_by_the_driver(api, device):
    values = np.arange(100)
    there = to_device(values, create_stream(timeline=device.timeline), space=device.space)
    assert np.array_equal(there.copy_to_host(), values)
    assert places(api) == []


def test_page_locked_memory_is_copied_by_the_driver_from_where_it_is(api, device):
    del api.failures["cuPointerGetAttribute"]
    values = pinned_array(MANY, np.int64, space=device.space)
    values[:] = np.arange(MANY)
    api.pointers[values.ctypes.data] = {"MEMORY_TYPE": 1, "DEVICE_ORDINAL": 0, "IS_MANAGED": 0}
    before = len(places(api))
    there = to_device(values, create_stream(timeline=device.timeline), space=device.space)
    assert len(places(api)) == before
    [copy] = api.called("cuMemcpyAsync")
    assert (int(copy[1]), copy[2]) == (values.ctypes.data, values.nbytes)
    del there


def test_a_block_in_flight_is_not_given_to_another_copy(api, device):
    first, second = (create_stream(timeline=device.timeline) for _ in range(2))
    values = np.arange(MANY)
    api.failures["cuEventQuery"] = "CUDA_ERROR_NOT_READY"
    arrays = [to_device(values, stream, space=device.space) for stream in (first, second, first)]
    assert len(places(api)) == 3
    del api.failures["cuEventQuery"]
    arrays += [to_device(values, stream, space=device.space) for stream in (first, second)]
    assert len(places(api)) == 3
    assert all(np.array_equal(array.copy_to_host(), values) for array in arrays)
    assert not api.called("cuStreamSynchronize")


def test_a_block_is_free_after_the_work_of_the_stream_that_used_it(api, device):
    stream = create_stream(timeline=device.timeline)
    to_device(np.arange(MANY), stream, space=device.space)
    names = [name for name, arguments in api.calls if name in ("cuMemcpyAsync", "cuEventRecord")]
    assert names[-1] == "cuEventRecord"
    assert api.called("cuEventRecord")[-1][1] == stream.handle


def test_blocks_hold_no_more_than_their_bound(api, device, monkeypatch):
    monkeypatch.setattr(staged, "_ALL_BYTES", 8 << 20)
    api.failures["cuEventQuery"] = "CUDA_ERROR_NOT_READY"
    stream = create_stream(timeline=device.timeline)
    for _ in range(6):
        to_device(np.arange(MANY), stream, space=device.space)
    assert sum(size for size, _ in places(api)) <= 8 << 20
    assert api.called("cuEventSynchronize")


def test_a_larger_block_that_is_free_serves_without_another_being_made(api, device):
    stream = create_stream(timeline=device.timeline)
    for count in (MANY, MANY // 4, MANY // 8, MANY):
        to_device(np.arange(count), stream, space=device.space)
    assert len(places(api)) == 1


def test_a_copy_that_has_no_room_waits_for_its_own_stream_before_others(api, device, monkeypatch):
    monkeypatch.setattr(staged, "_ALL_BYTES", 8 << 20)
    api.failures["cuEventQuery"] = "CUDA_ERROR_NOT_READY"
    first, second = (create_stream(timeline=device.timeline) for _ in range(2))
    for stream in (first, second):
        to_device(np.arange(MANY), stream, space=device.space)
    recorded = dict(api.called("cuEventRecord"))
    to_device(np.arange(MANY), second, space=device.space)
    assert [recorded[event] for (event,) in api.called("cuEventSynchronize")] == [second.handle]


def test_blocks_of_a_context_that_was_reset_are_forgotten(api, device):
    to_device(np.arange(MANY), space=device.space)
    api.epoch += 1
    to_device(np.arange(MANY), space=device.space)
    assert len(places(api)) == 2


@pytest.mark.parametrize("count", [AT_ONCE_BYTES // 8 + 1, (5 << 20) // 8 + 13])
def test_arrays_of_any_size_and_order_come_back_as_they_went(api, device, count):
    values = np.random.default_rng(1).integers(0, 1 << 60, count)
    stream = create_stream(timeline=device.timeline)
    assert np.array_equal(to_device(values, stream, space=device.space).copy_to_host(), values)
    plane = values[: count // 16 * 16].reshape(16, -1)
    for view in (plane.T, plane[::-1], plane[:, ::2]):
        assert np.array_equal(to_device(view, stream, space=device.space).copy_to_host(), view)


def test_what_goes_wrong_in_a_helper_is_raised(api, device, monkeypatch):
    def broken(*_):
        raise MemoryError("of the helper")

    monkeypatch.setattr(ctypes, "memmove", broken)
    with pytest.raises(MemoryError, match="of the helper"):
        to_device(np.arange(MANY), space=device.space)


@pytest.mark.parametrize("outward", [True, False])
def test_a_copy_that_is_interrupted_gives_its_block_back(api, device, monkeypatch, outward):
    there = to_device(np.arange(MANY), space=device.space)
    assert len(places(api)) == 1

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(device.carrier, "read" if outward else "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            there.copy_to_host() if outward else there.copy_to_device(np.zeros(MANY, np.int64))
    there.copy_to_device(np.arange(MANY)[::-1].copy())
    assert np.array_equal(there.copy_to_host(), np.arange(MANY)[::-1])
    assert len(places(api)) == 1


def test_pieces_grow_on_the_way_to_a_device_and_shrink_on_the_way_back(api, device):
    values = np.zeros(20 << 20, np.uint8)
    there = to_device(values, space=device.space)
    there.copy_to_host()
    sizes = [size >> 20 for *_, size, _ in api.called("cuMemcpyAsync")]
    assert sizes == [1, 2, 4, 8, 5, 5, 8, 4, 2, 1]


def test_an_output_that_nobody_waits_for_is_there_after_the_streams_callback(api, device):
    stream = create_stream(timeline=device.timeline)
    there = to_device(np.arange(100), stream, space=device.space)
    values = np.zeros((100, 2), np.int64)[:, 0]
    device.space.read_later(there._ghost, values, stream)
    assert set(values) == {0}
    [(function, number)] = api.called_back
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(function.getPtr()).value)  # type: ignore[arg-type]
    call(number)
    assert np.array_equal(values, np.arange(100))
    # The block is free when the host's part is done.
    order = [name for name, _ in api.calls if name in ("cuLaunchHostFunc", "cuEventRecord")]
    assert order[-2:] == ["cuLaunchHostFunc", "cuEventRecord"]


def test_an_array_that_is_made_in_a_stream_is_usable_there(api, device):
    stream = create_stream(timeline=device.timeline)
    made = device_array(MANY, np.int64, stream=stream, space=device.space)
    made.copy_to_device(np.arange(MANY))
    assert {at for *_, at in api.called("cuMemcpyAsync")} == {stream.handle}
