"""Streams, events, contexts and the end of the process on a real GPU."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.process.current import (
    create_event,
    create_stream,
    default_stream,
    external_stream,
    per_thread_default_stream,
)
from gridjit.runtime.queues.streams import stream_handle

pytestmark = pytest.mark.gpu


def test_events_measure_work_in_a_stream(device):
    values = np.zeros(1 << 26, np.uint8)
    with create_stream(timeline=device.timeline) as stream:
        there = to_device(values, stream, space=device.space)
        start = stream.record()
        there.copy_to_device(values)
        end = create_event(timeline=device.timeline).record(stream)
        end.synchronize()
        assert end.query()
        assert 0.1 < start.elapsed_time(end) < 10_000


def test_a_stream_waits_for_an_events_stream(device):
    values = np.arange(1 << 22)
    first, second = (create_stream(nonblocking=True, timeline=device.timeline) for _ in range(2))
    there = to_device(values, first, space=device.space)
    copy = to_device(np.zeros_like(values), second, space=device.space)
    second.wait(first.record())
    copy.bind(second).copy_to_device(there)
    assert np.array_equal(copy.copy_to_host(stream=second), values)
    second.synchronize()
    assert second.query()


def test_an_event_without_timing_says_so(device):
    events = [create_event(timing=False, timeline=device.timeline).record() for _ in range(2)]
    device.synchronize()
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_HANDLE"):
        events[0].elapsed_time(events[1])


def test_default_streams_are_streams(device):
    for stream in (default_stream(device.timeline), per_thread_default_stream(device.timeline)):
        there = to_device(np.arange(5), stream, space=device.space)
        assert there.copy_to_host().tolist() == [0, 1, 2, 3, 4]
        stream.synchronize()
        assert stream.query()


@pytest.mark.parametrize("library", ["torch", "cupy", "numba.cuda"])
def test_streams_of_other_libraries_are_used(device, library):
    module = pytest.importorskip(library)
    made = {
        "torch": lambda: module.cuda.Stream(),
        "cupy": lambda: module.cuda.Stream(),
        "numba.cuda": lambda: module.stream(),
    }[library]()
    assert stream_handle(made) > 2
    there = to_device(np.arange(5), made, space=device.space)
    assert there.copy_to_host().tolist() == [0, 1, 2, 3, 4]
    external_stream(stream_handle(made), device.timeline).synchronize()


def test_callbacks_come_in_the_streams_order(device):
    seen, done = [], threading.Event()
    with create_stream(timeline=device.timeline) as stream:
        there = to_device(np.arange(1 << 20), stream, space=device.space)
        stream.add_callback(lambda *given: seen.append(given[1:]), "first")
        there.copy_to_device(np.arange(1 << 20))
        stream.add_callback(lambda *given: (seen.append(given[1:]), done.set()), "second")  # type: ignore[arg-type]
        assert done.wait(60)
    assert seen == [(0, "first"), (0, "second")]


def test_copies_of_pageable_memory_in_many_streams_do_not_meet(device):
    wrong, begin = [], threading.Barrier(8)

    def work(number):
        random = np.random.default_rng(number)
        stream = create_stream(nonblocking=True, timeline=device.timeline)
        begin.wait(60)
        for _ in range(20):
            values = random.integers(0, 1 << 60, int(random.integers(1 << 14, 1 << 20)))
            there = to_device(values, stream, space=device.space)
            if not np.array_equal(there.copy_to_host(stream=stream), values):
                wrong.append(number)
        stream.close()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_more_than_one_block_holds_is_copied(device):
    values = np.random.default_rng(0).integers(0, 256, (65 << 20) + 3, np.uint8)
    with create_stream(timeline=device.timeline) as stream:
        there = to_device(values, stream, space=device.space)
        assert np.array_equal(there.copy_to_host(stream=stream), values)


def test_streams_and_arrays_that_go_in_a_callback_are_freed(device):
    stream, kept = create_stream(timeline=device.timeline), []
    kept += [create_stream(timeline=device.timeline), to_device(np.arange(5), space=device.space)]
    stream.on_complete(kept.clear)
    stream.synchronize()
    assert kept == []
    assert to_device(np.arange(5), space=device.space).copy_to_host().tolist() == [0, 1, 2, 3, 4]


def test_priorities_are_the_devices(device):
    low, high = device.timeline.priorities
    assert create_stream(priority=high, timeline=device.timeline).priority == high
    assert create_stream(priority=low + 5, timeline=device.timeline).priority == low


RESET = """
import numpy as np
from gridjit import DeviceError
from gridjit.runtime.devices.cuda.device import current_device
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.process.current import create_event, create_stream
device = current_device()
stream, event = create_stream(timeline=device.timeline), create_event(timeline=device.timeline)
array = to_device(np.arange(5), stream, space=device.space)
device.driver.call('cuDevicePrimaryCtxReset', device.handle)
for use in (stream.synchronize, event.query, stream.query):
    try:
        use()
    except DeviceError as error:
        print(error)
stream.close(); event.close(); del array
big = to_device(np.arange(1 << 20), space=device.space)
device.driver.call('cuDevicePrimaryCtxReset', device.handle)
del big
print(to_device(np.arange(1 << 20), space=device.space).copy_to_host()[-1] == (1 << 20) - 1)
with create_stream(timeline=device.timeline) as stream:
    print(to_device(np.arange(3), stream, space=device.space).copy_to_host())
print('end')
"""


def test_handles_that_outlived_their_context_raise(run_program):
    done = run_program(RESET)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("context was reset") == 3, done.stdout
    assert done.stdout.endswith("True\n[0 1 2]\nend\n")


EXIT = """
import atexit
import numpy as np
from gridjit.runtime.devices.cuda.device import current_device
from gridjit.runtime.arrays.create import pinned_array, to_device
from gridjit.runtime.process.current import create_event, create_stream
device = current_device()
stream, event = create_stream(timeline=device.timeline), create_event(timeline=device.timeline)
array, pinned = to_device(np.arange(5), stream, space=device.space), pinned_array(5, space=device.space)
event.record(stream)
cycle = [array, stream]; cycle.append(cycle)
atexit.register(lambda: device.driver.call('cuDevicePrimaryCtxReset', device.handle))
"""


def test_the_process_ends_quietly_with_everything_alive(run_program):
    done = run_program(EXIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
