"""Streams and events: handles, their owners, and what libraries' streams become."""

from __future__ import annotations

import asyncio
import ctypes
import gc

import pytest

from gridjit.compiler.values.errors import ArgumentError, DeviceError
from gridjit.runtime.arrays.create import device_array
from gridjit.runtime.devices.cuda.api.timeline import _pending
from gridjit.runtime.devices.cuda.device import CudaDevice
from gridjit.runtime.process.current import (
    create_event,
    create_stream,
    current_stream,
    default_stream,
    external_stream,
    per_thread_default_stream,
)
from gridjit.runtime.queues.streams import stream_handle
from gridjit.runtime.queues.timeline import HOST, HostTimeline


class Speaks:
    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


class Torch:
    cuda_stream = 0x70


class CuPy:
    ptr = 0x71


class NumbaCuda:
    handle = ctypes.c_void_p(0x72)


class NumbaDefault:
    handle = ctypes.c_void_p(0)


def called_back(api):
    """Call back what the driver was asked to, as it does."""
    for function, number in api.called_back:
        address = ctypes.c_void_p.from_address(function.getPtr()).value
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(number)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (0, 0),
        (None, 0),
        (0x123, 0x123),
        (Speaks((0, 0x55)), 0x55),
        (Torch(), 0x70),
        (CuPy(), 0x71),
        (NumbaCuda(), 0x72),
        (NumbaDefault(), 0),
    ],
)
def test_every_librarys_stream_has_a_handle(stream, handle):
    assert stream_handle(stream) == handle


@pytest.mark.parametrize("stream", ["0", 1.5, True, False, object(), [0], Speaks((1, 5)), -1, 1 << 64])
def test_what_is_not_a_stream_is_refused_by_name(stream):
    with pytest.raises(ArgumentError, match="stream"):
        stream_handle(stream)


def test_an_event_is_not_a_stream(device):
    with pytest.raises(ArgumentError, match=r"streams\.Event"):
        stream_handle(create_event(timeline=device.timeline))


def test_a_stream_of_ours_is_its_own_handle(device):
    stream = create_stream(timeline=device.timeline)
    assert stream_handle(stream) == stream.handle == int(stream) == stream.__cuda_stream__()[1]


def test_a_stream_is_destroyed_once(api, device):
    stream = create_stream(timeline=device.timeline)
    handle = stream.handle
    stream.close()
    stream.close()
    del stream
    gc.collect()
    assert api.called("cuStreamDestroy") == [(handle,)]


def test_a_stream_is_destroyed_when_it_goes(api, device):
    handle = create_stream(timeline=device.timeline).handle
    gc.collect()
    assert api.called("cuStreamDestroy") == [(handle,)]


def test_a_destroyed_stream_raises(device):
    stream = create_stream(timeline=device.timeline)
    stream.close()
    with pytest.raises(DeviceError, match="stream was destroyed"):
        stream_handle(stream)


def test_a_stream_that_outlived_its_context_raises_and_is_not_destroyed(api, device):
    stream, event = create_stream(timeline=device.timeline), create_event(timeline=device.timeline)
    api.epoch += 1
    with pytest.raises(DeviceError, match="stream's context was reset"):
        stream.synchronize()
    with pytest.raises(DeviceError, match="event's context was reset"):
        event.query()
    stream.close()
    assert not api.called("cuStreamDestroy")


def test_streams_of_others_and_the_default_ones_are_never_destroyed(api, device):
    for stream in (external_stream(0x99, device.timeline), default_stream(device.timeline)):
        stream.close()
        del stream
    gc.collect()
    assert not api.called("cuStreamDestroy")
    assert external_stream(0x99, device.timeline).handle == 0x99
    assert per_thread_default_stream(device.timeline).handle == 2


def test_leaving_a_stream_neither_waits_for_it_nor_destroys_it(api, device):
    with create_stream(timeline=device.timeline) as stream:
        assert current_stream(device.timeline) is stream
    assert current_stream(device.timeline).handle == 0
    assert stream.alive
    assert not api.called("cuStreamSynchronize")
    assert not api.called("cuStreamDestroy")


def test_streams_can_be_made_independent_and_urgent(api, device):
    create_stream(priority=-1, nonblocking=True, timeline=device.timeline)
    assert api.called("cuStreamCreateWithPriority") == [(1, -1)]


def test_events_are_recorded_waited_for_and_timed(api, device):
    stream, other = create_stream(timeline=device.timeline), create_stream(timeline=device.timeline)
    start, end = stream.record(), create_event(timeline=device.timeline)
    end.record(stream)
    other.wait(end)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) == 1.5
    assert api.called("cuEventRecord") == [(start.handle, stream.handle), (end.handle, stream.handle)]
    assert api.called("cuStreamWaitEvent") == [(other.handle, end.handle, 0)]


def test_work_that_is_not_done_is_not_an_error(api, device):
    stream, event = create_stream(timeline=device.timeline), create_event(timeline=device.timeline)
    api.failures |= {"cuStreamQuery": "CUDA_ERROR_NOT_READY", "cuEventQuery": "CUDA_ERROR_NOT_READY"}
    assert not stream.query()
    assert not event.query()


def test_a_stream_belongs_to_its_device_whatever_is_current(api, device):
    stream = create_stream(timeline=device.timeline)
    second = CudaDevice(device.driver, 1)
    second.make_current()
    stream.synchronize()
    assert api.context == second.context


def test_a_callback_is_called_once_by_the_driver(api, device):
    stream, seen = create_stream(timeline=device.timeline), []
    stream.add_callback(lambda *given: seen.append(given), "text")
    called_back(api)
    called_back(api)
    assert seen == [(stream, 0, "text")]


def test_what_goes_in_a_callback_is_freed_after_it(api, device):
    stream, kept = create_stream(timeline=device.timeline), []
    kept += [
        create_stream(timeline=device.timeline),
        create_event(timeline=device.timeline),
        device_array(8, space=device.space),
    ]
    stream.on_complete(kept.clear)
    called_back(api)
    assert not api.called("cuStreamDestroy")
    assert not api.called("cuEventDestroy")
    assert not api.called("cuMemFreeAsync")
    another = create_stream(timeline=device.timeline)
    device_array(8, space=device.space)
    assert another.alive
    assert len(api.called("cuStreamDestroy")) == len(api.called("cuEventDestroy")) == 1
    assert len(api.called("cuMemFreeAsync")) == 2


def test_a_stream_that_goes_after_its_context_was_reset_is_not_destroyed(api, device):
    stream, event = create_stream(timeline=device.timeline), create_event(timeline=device.timeline)
    api.epoch += 1
    del stream, event
    gc.collect()
    assert not api.called("cuStreamDestroy")
    assert not api.called("cuEventDestroy")


def test_priorities_are_the_drivers(api, device):
    assert device.timeline.priorities == (0, -5)
    assert create_stream(priority=-3, timeline=device.timeline).priority == -3


def test_awaiting_a_stream_ends_when_the_driver_will_not_call_back(api, device):
    stream = create_stream(timeline=device.timeline)

    async def main():
        waiting = stream.done()
        api.failures["cuStreamQuery"] = "CUDA_ERROR_LAUNCH_FAILED"
        await waiting

    with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
        asyncio.run(main())


def test_a_callback_that_the_driver_refused_is_forgotten(api, device):
    stream = create_stream(timeline=device.timeline)
    before = len(_pending)
    api.failures["cuLaunchHostFunc"] = "CUDA_ERROR_INVALID_VALUE"
    with pytest.raises(DeviceError):
        stream.add_callback(lambda *given: None)
    assert len(_pending) == before


def test_on_the_host_a_callback_is_called_before_a_wait_for_the_stream_ends():
    seen = []
    stream = create_stream(timeline=HOST)
    stream.add_callback(lambda *given: seen.append(given), 5)
    stream.synchronize()
    assert seen == [(stream, 0, 5)]


def test_on_the_host_streams_are_idle_and_events_keep_time():
    stream = create_stream(timeline=HOST)
    start, end = create_event(timeline=HOST).record(stream), create_event(timeline=HOST).record(stream)
    stream.wait(end)
    stream.synchronize()
    assert stream.query()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    assert end.elapsed_time(start) == -start.elapsed_time(end)


def test_on_the_host_an_event_that_was_not_recorded_has_no_time():
    timeline = HostTimeline()
    start, end = create_event(timeline=timeline).record(), create_event(timeline=timeline)
    with pytest.raises(DeviceError, match="not recorded"):
        start.elapsed_time(end)
