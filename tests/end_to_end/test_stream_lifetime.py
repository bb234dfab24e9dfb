"""Streams and events at their ends: closed twice, collected, pickled, forked, failed, and at the interpreter's exit."""

from __future__ import annotations

import collections
import copy
import gc
import os
import pickle
import runpy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import DeviceError, cuda
from tests.programs import run_python

pytestmark = pytest.mark.usefixtures("target")
ROOT = Path(__file__).parents[2]


@gridjit.jit
def add(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


@pytest.mark.parametrize("make", [gridjit.create_stream, gridjit.create_event])
def test_closing_twice_does_no_harm_and_use_after_it_names_what_was_closed(make: Any) -> None:
    made = make()
    handle, kind = made.handle, made.kind
    made.close()
    made.close()
    assert not made.alive
    for use in (made.query, made.synchronize, made.record, lambda: made.wait(0)):
        with pytest.raises(DeviceError, match=f"{kind} 0x{handle:x} was closed; make another with create_{kind}"):
            use()


def test_a_closed_stream_is_launched_in_and_copied_in_by_nobody() -> None:
    values, stream = cuda.to_device(np.zeros(8, np.int64)), gridjit.create_stream()
    configured = add[1, 32, stream]
    for _ in range(6):
        configured(values, 1)
    stream.synchronize()
    stream.close()
    for use in (
        lambda: configured(values, 1),
        lambda: add[1, 32, stream](values, 1),
        lambda: values.copy_to_host(stream=stream),
        lambda: cuda.to_device(np.zeros(3), stream=stream),
        lambda: gridjit.create_event().record(stream),
    ):
        with pytest.raises(DeviceError, match=r"stream 0x.* was closed"):
            use()
    assert set(values.copy_to_host()) == {6}


def test_work_of_a_stream_that_is_closed_or_gone_is_still_done() -> None:
    first, second = (cuda.to_device(np.zeros(8, np.int64)) for _ in range(2))
    release = threading.Event()
    add[1, 32](first, 0)
    closed, gone = gridjit.create_stream(), gridjit.create_stream()
    for stream, values in ((closed, first), (gone, second)):
        stream.on_complete(lambda: release.wait(60))
        add[1, 32, stream](values, 1)
    closed.close()
    del gone, stream
    gc.collect()
    release.set()
    cuda.synchronize()
    assert set(first.copy_to_host()) == set(second.copy_to_host()) == {1}


def test_a_wrapper_of_anothers_stream_does_not_destroy_it() -> None:
    stream = gridjit.create_stream()
    wrapper = gridjit.external_stream(stream)
    assert wrapper.handle == stream.handle
    wrapper.close()
    wrapper.close()
    with pytest.raises(DeviceError, match="was closed"):
        wrapper.synchronize()
    del wrapper
    gc.collect()
    values = cuda.to_device(np.zeros(8, np.int64), stream=stream)
    add[1, 32, stream](values, 1)
    assert set(values.copy_to_host()) == {1}


class Owner:
    """A library's stream, which ends with its object."""

    def __init__(self, stream: gridjit.Stream) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self._stream.handle)


def test_a_wrapper_keeps_the_object_whose_stream_it_is() -> None:
    owner = Owner(gridjit.create_stream())
    wrapper = gridjit.external_stream(owner)
    assert wrapper.owner is owner


def test_the_default_streams_have_no_end() -> None:
    for stream in (gridjit.default_stream(), cuda.per_thread_default_stream()):
        handle = stream.handle
        stream.close()
        stream.synchronize()
        assert stream.handle == handle


@pytest.mark.parametrize(
    "make",
    [
        gridjit.create_stream,
        gridjit.create_event,
        gridjit.default_stream,
        lambda: cuda.device_array(3).gpu_data,
        lambda: cuda.device_array(3),
    ],
    ids=["stream", "event", "default", "memory", "array"],
)
def test_what_is_of_this_process_cannot_be_pickled_and_says_why(make: Any) -> None:
    made = make()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled.*(create_|copy_to_host)"):
            attempt(made)


def test_handles_end_with_their_objects_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline, live = type(gridjit.current_stream().timeline), collections.Counter[str]()

    def counted(name: str, kind: str, by: int) -> None:
        call = getattr(timeline, name)

        def counting(*given: Any, **named: Any) -> Any:
            live[kind] += by
            return call(*given, **named)

        monkeypatch.setattr(timeline, name, counting)

    for kind in ("stream", "event"):
        counted(f"create_{kind}", kind, 1)
        counted(f"destroy_{kind}", kind, -1)
    values = cuda.to_device(np.zeros(8, np.int64))
    gc.collect()
    before = live.copy()
    for _ in range(200):
        stream, event = gridjit.create_stream(), gridjit.create_event()
        cycle: list[Any] = [stream, event]
        cycle.append(cycle)
        with stream:
            values.copy_to_device(values)
        event.record(stream)
        stream.wait(event)
    assert live["stream"] >= before["stream"] + 1
    assert live["event"] >= before["event"] + 1
    del stream, event, cycle
    gc.collect()
    cuda.synchronize()
    assert live == before


@pytest.mark.parametrize("cycles", [3000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_neither_handles_nor_memory_are_left_of_streams_and_events_that_come_and_go(cycles: int) -> None:
    soak = runpy.run_path(str(ROOT / "scripts/soak-streams.py"))["soak"]
    found = soak(cycles, every=cycles // 30)
    assert (found["handles_left"], found["launches_lost"]) == (0, False)
    assert found["grown_kib"] < 2048


@gridjit.jit(debug=True, opt=False)
def fails(values: Any) -> None:
    if values[0] == 0:
        raise ValueError("of the kernel")


def test_what_goes_wrong_in_a_stream_is_told_once_to_who_waits_for_it(target: str) -> None:
    if target != "host":
        pytest.skip("a launch of a debug kernel on a GPU waits for it")
    values, stream = cuda.to_device(np.zeros(8, np.int64)), gridjit.create_stream()
    for wait in (
        stream.synchronize,
        lambda: stream.record().synchronize(),
        cuda.synchronize,
        lambda: values.copy_to_host(),
        lambda: add[1, 32](values, 1),
        lambda: values.copy_to_host(stream=stream),
    ):
        fails[1, 1, stream](values)
        with pytest.raises(ValueError, match="of the kernel"):
            wait()
        stream.synchronize()
        cuda.synchronize()
    assert set(values.copy_to_host()) == {0}


def test_a_callback_that_waits_for_its_own_stream_is_told_so(target: str) -> None:
    if target != "host":
        pytest.skip("what a driver's callback may not do is the driver's affair")
    stream, seen = gridjit.create_stream(), []

    def wait() -> None:
        try:
            stream.on_complete(lambda: None)
            stream.synchronize()
        except DeviceError as error:
            seen.append(str(error))

    stream.on_complete(wait)
    stream.synchronize()
    assert len(seen) == 1
    assert "its own stream" in seen[0]


@pytest.mark.parametrize("way", ["a stream that waits", "a stream that waits for one that waits", "another callback"])
def test_callbacks_that_would_wait_for_each_other_for_ever_are_told_so(target: str, way: str) -> None:
    if target != "host":
        pytest.skip("what a driver's callback may not do is the driver's affair")
    one, two, three, seen = *(gridjit.create_stream(nonblocking=True) for _ in range(3)), []
    given, waits = threading.Event(), threading.Event()

    def wait_for(stream: gridjit.Stream) -> None:
        given.wait(60)
        try:
            waits.set()
            stream.synchronize()
        except DeviceError as error:
            seen.append(str(error))

    one.on_complete(lambda: wait_for(two))
    if way == "another callback":
        two.on_complete(lambda: wait_for(one))
    elif way == "a stream that waits":
        two.wait(one)
    else:
        three.wait(one)
        two.wait(three)
    given.set()
    for stream in (one, two, three):
        stream.synchronize()
    assert len(seen) == 1
    assert "a stream that waits for it, which would never end" in seen[0] or "its own stream" in seen[0]


EXITS = """
import atexit, gc, sys, threading
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def add(values, amount):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount

values = cuda.to_device(np.zeros(1 << 16, np.int64))
streams = [gridjit.create_stream() for _ in range(4)]
order = {order!r}
if order == 'atexit':
    atexit.register(lambda: add[256, 256, streams[0]](values, 1))
for turn in range(50):
    for stream in streams:
        add[256, 256, stream](values, 1)
event = streams[0].record()
streams[1].wait(event)
streams[2].on_complete(lambda: None)
if order == 'cycle':
    streams.append(streams)
if order == 'entered':
    streams[3].__enter__()
if order == 'gone':
    del streams, stream, event, values
    gc.collect()
print('end')
"""


@pytest.mark.some(3)
@pytest.mark.parametrize("order", ["plain", "cycle", "entered", "gone", "atexit"])
def test_the_interpreter_ends_quietly_with_work_in_streams(order: str, tmp_path: Any) -> None:
    (tmp_path / "program.py").write_text(EXITS.replace("{order!r}", repr(order)))
    done = run_python(tmp_path / "program.py", cwd=tmp_path, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


FORKS = """
import os, threading, warnings
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def add(values, amount):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount

values = cuda.to_device(np.zeros(8, np.int64))
stream, other = gridjit.create_stream(), gridjit.create_stream()
for _ in range(6):
    add[1, 32, other](values, 0)
other.synchronize()
gate, reached = threading.Event(), threading.Event()
stream.on_complete(lambda: (reached.set(), gate.wait(60)))
add[1, 32, stream](values, 1)
event = stream.record()
assert reached.wait(60)
warnings.simplefilter('ignore', DeprecationWarning)  # Python's, of any fork with threads
child = os.fork()
if child == 0:
    code = 1
    try:
        add[1, 32, other](values, 5)
        other.synchronize()
        try:
            event.synchronize()
        except gridjit.DeviceError as error:
            assert 'the parent does it' in str(error), error
            assert event.query()
            add[1, 32, stream](values, 2)
            stream.synchronize()
            assert set(values.copy_to_host()) == {7}, values.copy_to_host()
            code = 0
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
gate.set()
assert set(values.copy_to_host()) == {1}
print('end')
"""


def test_a_forked_child_has_streams_without_the_parents_work(target: str, tmp_path: Any) -> None:
    if target != "host":
        pytest.skip("no process forks with a GPU in use")
    (tmp_path / "program.py").write_text(FORKS)
    done = run_python(tmp_path / "program.py", cwd=tmp_path, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_asynchronous_outputs_are_there_when_their_event_has_come(target: str) -> None:
    values, sums = np.zeros(100, np.int64), np.zeros(100, np.int64)
    add[1, 128](gridjit.InOut(values), 1)
    stream, gate, reached = gridjit.create_stream(), threading.Event(), threading.Event()
    stream.on_complete(lambda: (reached.set(), gate.wait(60)))
    assert reached.wait(60)
    argument = gridjit.InOut(values, asynchronous=True)
    assert argument.event is None
    add[1, 128, stream](argument, 1)
    event: Any = argument.event
    assert not event.query()
    assert set(values) == {1}
    gate.set()
    event.synchronize()
    assert set(values) == {2}
    add[1, 128, stream](gridjit.InOut(sums), 1)
    assert set(sums) == {1}


def test_an_asynchronous_output_outlives_its_objects() -> None:
    values = np.zeros((50, 3), np.int64)[:, ::2].T
    add_all = gridjit.jit(add_to_rows)
    add_all[1, 128](gridjit.InOut(values), 1)
    stream = gridjit.create_stream()
    done = gridjit.InOut(values, asynchronous=True)
    add_all[1, 128, stream](done, 1)
    event, rows = done.event, values.copy
    assert event is not None
    del done, values
    gc.collect()
    event.synchronize()
    assert set(rows().ravel()) == {2}


def add_to_rows(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.shape[1]:
        for row in range(values.shape[0]):
            values[row, i] += amount
