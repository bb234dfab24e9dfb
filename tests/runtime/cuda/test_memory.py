"""Device memory: where it is taken from, when it is given back, and how strided arrays are copied."""

from __future__ import annotations

import gc
import itertools
import pickle

import numpy as np
import pytest

from gridjit.compiler.values.errors import DeviceError, LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.arrays.create import (
    as_device_array,
    device_array,
    managed_array,
    mapped_array,
    pinned,
    pinned_array,
    to_device,
)
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.process.current import create_stream
from tests.views import check_copies_of_a_view

CUBE = np.arange(2 * 3 * 4, dtype=np.int32).reshape(2, 3, 4)
SLICES = [np.s_[:], np.s_[::2], np.s_[::-1], np.s_[1:]]


def test_arrays_come_from_a_pool_in_the_order_of_their_stream(api, device):
    with create_stream(timeline=device.timeline) as stream:
        made = device_array(5, np.float32, stream=stream, space=device.space)
        [(size, _, handle)] = api.called("cuMemAllocFromPoolAsync")
        assert (size, handle) == (20, stream.handle)
        address = made.data
        del made
        gc.collect()
        assert api.called("cuMemFreeAsync") == [(address, stream.handle)]


def test_a_device_without_pools_gives_plain_memory(api, device):
    api.attributes["MEMORY_POOLS_SUPPORTED"] = 0
    device_array(5, space=device.space)
    gc.collect()
    assert len(api.called("cuMemAlloc")) == len(api.called("cuMemFree")) == 1


def test_memory_is_freed_with_the_last_view(api, device):
    whole = to_device(CUBE, space=device.space)
    part = whole[0, 1:]
    del whole
    gc.collect()
    assert not api.called("cuMemFreeAsync")
    assert part.copy_to_host().tolist() == CUBE[0, 1:].tolist()
    del part
    gc.collect()
    assert not api.memory


def test_memory_of_a_destroyed_stream_is_freed_in_the_default_stream(api, device):
    stream = create_stream(timeline=device.timeline)
    made = device_array(5, stream=stream, space=device.space)
    stream.close()
    del made
    gc.collect()
    assert [handle for _, handle in api.called("cuMemFreeAsync")] == [0]


def test_memory_of_a_numbered_stream_is_freed_in_the_default_stream(api, device):
    device_array(5, stream=0x99, space=device.space)
    gc.collect()
    assert [handle for _, handle in api.called("cuMemFreeAsync")] == [0]


def test_memory_of_a_context_that_was_reset_is_not_freed_in_the_next(api, device):
    made = device_array(5, space=device.space)
    pinned = pinned_array(5, space=device.space)
    api.epoch += 1
    del made, pinned
    gc.collect()
    assert not api.called("cuMemFreeAsync")
    assert not api.called("cuMemFreeHost")
    kept = device_array(5, space=device.space)
    assert len(api.called("cuMemPoolCreate")) == 2
    del kept


def test_nothing_is_freed_during_a_capture_but_after_it(api, device):
    made = device_array(5, space=device.space)
    api.capturing.add(0)
    del made
    gc.collect()
    assert not api.called("cuMemFreeAsync")
    api.capturing.clear()
    kept = device_array(5, space=device.space)
    assert len(api.called("cuMemFreeAsync")) == 1
    del kept


def test_memory_that_waits_for_the_end_of_a_capture_keeps_the_stream_that_it_is_freed_in(api, device):
    stream = create_stream(timeline=device.timeline)
    made = device_array(5, stream=stream, space=device.space)
    api.capturing.add(stream.handle)
    del made, stream
    gc.collect()
    api.capturing.clear()
    kept = device_array(5, space=device.space)
    gc.collect()
    names = [name for name, _ in api.calls]
    assert names.index("cuMemFreeAsync") < names.index("cuStreamDestroy")
    del kept


def test_making_an_array_during_a_capture_is_refused(api, device):
    api.capturing.add(0)
    with pytest.raises(LaunchError, match="make it before"):
        device_array(5, space=device.space)


def test_a_full_device_is_trimmed_before_giving_up(api, device):
    api.failures["cuMemAllocFromPoolAsync"] = "CUDA_ERROR_OUT_OF_MEMORY"
    with pytest.raises(DeviceError, match="drop device arrays"):
        device_array(5, space=device.space)
    assert len(api.called("cuMemPoolTrimTo")) == 1
    assert len(api.called("cuMemAllocFromPoolAsync")) == 2


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("key", list(itertools.product(SLICES, repeat=3))[::3])
def test_any_view_is_copied_right_both_ways(device, axes, key):
    check_copies_of_a_view(device.space, CUBE, axes, key)


def test_a_repeated_axis_is_read_and_never_written(device):
    once = to_device(np.arange(3), space=device.space)
    repeated = type(once)(once._memory, np.lib.stride_tricks.as_strided(once._ghost, (4, 3), (0, 8)))
    assert repeated.copy_to_host().tolist() == [[0, 1, 2]] * 4
    with pytest.raises(TypeError, match="share memory"):
        repeated.copy_to_device(np.zeros((4, 3), np.int64))


def test_a_matrix_column_is_one_pitched_copy(api, device):
    matrix = to_device(np.arange(12.0).reshape(3, 4), space=device.space)
    assert matrix[:, 1].copy_to_host().tolist() == [1, 5, 9]
    [(copy,)] = api.called("cuMemcpy2DUnaligned")
    assert (copy.WidthInBytes, copy.Height, copy.srcPitch, copy.dstPitch) == (8, 3, 32, 8)


def test_copies_in_a_stream_are_asynchronous(api, device):
    stream = create_stream(timeline=device.timeline)
    made = to_device(np.arange(4), stream, space=device.space)
    made.copy_to_host()
    assert [arguments[-1] for arguments in api.called("cuMemcpyAsync")] == [stream.handle] * 2
    assert not api.called("cuMemcpy")


def test_a_copy_that_needs_a_temporary_is_refused_during_a_capture(api, device):
    made = to_device(CUBE, space=device.space)
    api.capturing.add(0x50)
    with pytest.raises(LaunchError, match="temporary"):
        made.copy_to_host(np.empty((4, 3, 2), np.int32).T, 0x50)


def test_page_locked_memory_is_freed_with_the_last_array_over_it(api, device):
    pinned = pinned_array((3, 4), np.float32, space=device.space)
    pinned[:] = 5
    row = pinned[1]
    del pinned
    gc.collect()
    assert row.tolist() == [5] * 4
    del row
    gc.collect()
    assert len(api.called("cuMemFreeHost")) == 1


def test_a_mapped_array_is_one_for_host_and_device(api, device):
    made = mapped_array((2, 3), np.int32, space=device.space)
    made[:] = 7
    there = as_device_array(made, space=device.space)
    assert there.data == made.ctypes.data
    assert there.copy_to_host().tolist() == [[7] * 3] * 2
    assert api.called("cuMemHostAlloc") == [(24, 3)]


def test_items_are_set_and_read_in_the_stream_that_is_given(api, device):
    stream = create_stream(timeline=device.timeline)
    made = to_device(np.arange(4), space=device.space)
    made.setitem(0, 10, stream=stream)
    assert made.getitem(0, stream=stream) == 10
    assert [arguments[-1] for arguments in api.called("cuMemcpyAsync")] == [stream.handle] * 2


@pytest.mark.parametrize(("stream", "said"), [(0, None), (1234, 1234)])
def test_a_mapped_array_and_its_views_say_the_stream_that_they_are_for(api, device, stream, said):
    made = mapped_array((2, 3), np.int32, stream=stream, space=device.space)
    assert made.__cuda_array_interface__["stream"] == said
    assert made[1:].__cuda_array_interface__["stream"] == said  # type: ignore[attr-defined]


@pytest.mark.parametrize(("attach_global", "flags"), [(True, 1), (False, 2)])
def test_a_managed_array_is_one_for_host_and_device_until_its_last_view(api, device, attach_global, flags):
    made = managed_array((2, 3), np.int32, attach_global=attach_global, space=device.space)
    made[:] = 7
    assert api.called("cuMemAllocManaged") == [(24, flags)]
    row = made[1]
    assert row.__cuda_array_interface__["data"][0] == row.ctypes.data
    del made
    gc.collect()
    assert row.tolist() == [7] * 3
    assert not api.called("cuMemFree")
    del row
    gc.collect()
    assert not api.memory


@pytest.mark.parametrize("make", [mapped_array, managed_array])
def test_what_numpy_makes_of_an_array_used_in_place_is_an_array_like_any_other(device, make):
    made = make((4, 3), np.int32, space=device.space)
    made[:] = 2
    for view in (made[1:], made.T, made[::-1, 1], made.reshape(12), made.view(np.uint32)):
        assert view.__cuda_array_interface__["shape"] == view.shape
    for other in (made.copy(), made + 1, made[[0, 2]], np.empty_like(made), pickle.loads(pickle.dumps(made))):
        assert not hasattr(other, "__cuda_array_interface__")


@pytest.mark.parametrize("make", [mapped_array, managed_array])
def test_a_kernel_gets_an_array_used_in_place_by_its_address_and_a_copy_of_what_is_made_of_it(api, device, make):
    made = make(4, np.int32, space=device.space)
    view, other = made[1:], made + 1
    transfer = Transfer(device.space, 0)
    at, view_at, other_at = (handler_of(array).parameters(array, transfer)[4] for array in (made, view, other))
    assert (at, view_at) == (made.ctypes.data, made.ctypes.data + 4)
    assert other_at in api.memory
    assert len({handler_of(array).kind(array) for array in (made, other)}) == 2


@pytest.mark.parametrize("make", [mapped_array, managed_array])
def test_a_kernel_knows_that_an_array_used_in_place_is_not_aligned(device, make):
    made = make(9, np.uint8, space=device.space)[1:].view(np.int64)
    place = Place(kind="ptx", ordinal=0)
    aligned = [handler_of(array).type_of(array, place).aligned for array in (made, made.copy(), np.array(made))]  # type: ignore[union-attr]
    assert aligned == [False, True, True]


def test_memory_of_no_stream_is_freed_without_breaking_a_capture(api, device):
    modes = []
    for free in ("cuMemFree", "cuMemFreeHost"):
        call = api._functions[free]
        api._functions = {**api._functions, free: lambda self, at, call=call: modes.append(self.mode) or call(self, at)}
    api.mode = before = object()
    for make in (mapped_array, managed_array):
        make(5, space=device.space)
        gc.collect()
    assert modes == [api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED] * 2
    assert api.mode is before


def test_a_device_without_managed_memory_says_what_there_is_instead(api, device):
    api.attributes["MANAGED_MEMORY"] = 0
    with pytest.raises(DeviceError, match="no managed memory: use a mapped array"):
        managed_array(5, space=device.space)


def test_arrays_are_page_locked_for_a_while(api, device):
    first, second = np.zeros(4, np.int32), np.zeros((4, 4))[:, ::-1]
    with pytest.raises(ZeroDivisionError), pinned(first, second, np.empty(0), space=device.space):
        assert api.called("cuMemHostRegister") == [(first.ctypes.data, 16, 1), (second.base.ctypes.data, 128, 1)]  # type: ignore[union-attr]
        assert not api.called("cuMemHostUnregister")
        raise ZeroDivisionError
    assert len(api.called("cuMemHostUnregister")) == 2


def test_a_copy_that_finds_out_names_the_kernel(api, device, artifact):
    made = device_array(5, space=device.space)
    device.load(artifact()).launch(LaunchConfig.of(3, 32), 0, 0, b"")
    api.failures["cuMemcpy"] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(LaunchError, match=r"launched last: module\.saxpy \[grid 3"):
        made.copy_to_host()


def test_the_array_interface_is_complete_and_understood(device):
    there = to_device(CUBE, space=device.space)
    interface = there[:, ::2].__cuda_array_interface__
    assert interface["shape"] == (2, 2, 4)
    assert interface["strides"] == (48, 32, 4)
    assert interface["typestr"] == "<i4"
    assert (interface["version"], interface["stream"]) == (3, 1)
    assert there.__cuda_array_interface__["strides"] is None
    again = as_device_array(Foreign(there[:, ::-1]), space=device.space)
    assert np.array_equal(again.copy_to_host(), CUBE[:, ::-1])


class Foreign:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_a_dlpack_consumer_waits_for_the_arrays_stream(api, device):
    stream = create_stream(timeline=device.timeline)
    there = to_device(np.arange(4), stream, space=device.space)
    assert there.__dlpack_device__() == (2, 0)
    capsule = there.__dlpack__(stream=2)
    assert [(where) for _, where in api.called("cuEventRecord")] == [stream.handle]
    assert [where for where, *_ in api.called("cuStreamWaitEvent")] == [2]
    del capsule
    there.__dlpack__(stream=-1)
    there.__dlpack__(stream=stream.handle)
    assert len(api.called("cuEventRecord")) == 1
    with pytest.raises(BufferError, match="ambiguous"):
        there.__dlpack__(stream=0)
