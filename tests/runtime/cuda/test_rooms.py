"""Rooms of a GPU's context: made when they are needed, usable by every stream, and gone with their context."""

from __future__ import annotations

import pytest

from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.errors import KernelError
from gridjit.runtime.native.layout.staging_records import MAX_ROOMS, ROOM_BYTES, RoomsRecord


def record(rooms, stream=0x50):
    assert rooms.grow(stream)
    return RoomsRecord.from_address(rooms.address)


def test_a_room_is_made_in_the_stream_of_its_first_launch_and_is_there_for_all_streams(api, device):
    room = record(device.space.rooms).rooms[0]
    assert (room.there in api.memory, bool(room.here), room.taken) == (True, True, 0)
    assert [(size, at) for size, _, at in api.called("cuMemAllocFromPoolAsync")] == [(ROOM_BYTES, 0x50)]
    assert api.called("cuStreamSynchronize") == [(0x50,)]
    # For it, the driver could wait for the work of all streams.
    assert not api.called("cuMemHostAlloc")


def test_there_are_more_rooms_only_when_all_are_taken_and_only_so_many(api, device):
    rooms = device.space.rooms
    found = record(rooms)
    rooms.grow(0)
    assert found.count == 1
    for count in range(1, MAX_ROOMS + 3):
        assert found.count == min(count, MAX_ROOMS)
        for room in found.rooms[: found.count]:
            room.taken = 1
        rooms.grow(0)
    assert len({room.there for room in found.rooms}) == MAX_ROOMS


def test_where_there_is_no_memory_for_a_room_there_is_none(api, device):
    api.failures["cuMemAllocFromPoolAsync"] = "CUDA_ERROR_OUT_OF_MEMORY"
    assert not device.space.rooms.grow(0)
    del api.failures["cuMemAllocFromPoolAsync"]
    assert record(device.space.rooms).count == 1


def test_a_new_context_has_rooms_of_its_own(api, device):
    before = device.space.rooms
    first = record(before).rooms[0].there
    api.epoch += 1
    after = device.space.rooms
    assert after is not before
    assert record(after).rooms[0].there != first


def test_an_error_after_a_launch_names_the_kernel(api, device):
    with pytest.raises(KernelError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS .*launched last: halve \["):
        device.space.rooms.fail(700, "halve", LaunchConfig.of(2, 32), 0x1234)


def test_a_kernel_copies_through_rooms_in_its_devices_own_context_only(api, device, artifact):
    device.make_current()
    kernel = device.load(artifact())
    assert kernel.entry(kernel.context).rooms() is device.space.rooms
    assert kernel.entry(kernel.context + 1).rooms is None
    assert kernel.entry(0).rooms is None
