"""What is in one stream is done in order, and streams do not wait for each other: the same on the host and on a GPU.

The behaviours are those that other libraries test of their streams, by meaning: work is asynchronous and in order;
an event is reached when its work is done; a stream waits for an event, for another stream, and for one of another
library; synchronizing twice, recording again and waiting for what was never recorded do no harm; the default stream
waits for blocking streams and not for others; a `with` block chooses the stream, nests, and is left by exceptions.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import DeviceError, cuda

pytestmark = pytest.mark.usefixtures("target", "values")


@gridjit.jit
def add(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


@gridjit.jit
def double_and_add(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] = 2 * values[i] + amount


class Gate:
    """Something that a stream waits for until it is opened."""

    def __init__(self, stream: gridjit.Stream) -> None:
        self._open, self.reached = threading.Event(), threading.Event()
        stream.on_complete(self._pass)

    def _pass(self) -> None:
        self.reached.set()
        self._open.wait(60)

    def open(self) -> None:
        self._open.set()

    def __enter__(self) -> Gate:
        assert self.reached.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()


@pytest.fixture
def values() -> Any:
    """An array on the device, in no stream that other work is in; the kernels are loaded, which no gate can hold up."""
    made = cuda.to_device(np.zeros(100, np.int64))
    add[1, 128](made, 0)
    double_and_add[1, 128](made, 0)
    cuda.synchronize()
    return made


@pytest.fixture
def stream() -> Iterator[gridjit.Stream]:
    made = gridjit.create_stream()
    yield made
    made.synchronize()
    made.close()


@pytest.fixture
def other() -> Iterator[gridjit.Stream]:
    made = gridjit.create_stream(nonblocking=True)
    yield made
    made.synchronize()
    made.close()


def test_a_launch_returns_before_its_kernel_runs(stream: gridjit.Stream, values: Any) -> None:
    with Gate(stream):
        add[1, 128, stream](values, 1)
        reached = stream.record()
        assert not stream.query()
        assert not reached.query()
    stream.synchronize()
    stream.synchronize()
    assert stream.query()
    assert reached.query()
    assert set(values.copy_to_host()) == {1}


def test_what_is_in_one_stream_is_done_in_order(stream: gridjit.Stream, values: Any) -> None:
    expected = 0
    with Gate(stream):
        for amount in range(50):
            (add if amount % 2 else double_and_add)[1, 128, stream](values, amount)
            expected = (expected if amount % 2 else 2 * expected) + amount
    assert set(values.copy_to_host(stream=stream)) == {expected}


def test_streams_do_not_wait_for_each_other(stream: gridjit.Stream, other: gridjit.Stream, values: Any) -> None:
    with Gate(stream):
        add[1, 128, other](values, 3)
        other.synchronize()
        assert set(values.copy_to_host(stream=other)) == {3}
        assert not stream.query()


def test_numpy_arguments_wait_for_their_own_stream_only(stream: gridjit.Stream, other: gridjit.Stream) -> None:
    array = np.zeros(100, np.int64)
    with Gate(stream):
        add[1, 128, other](gridjit.InOut(array), 3)
        assert set(array) == {3}
        assert not stream.query()


def test_a_stream_waits_for_an_event(stream: gridjit.Stream, other: gridjit.Stream, values: Any) -> None:
    with Gate(stream):
        add[1, 128, stream](values, 1)
        other.wait(stream.record())
        double_and_add[1, 128, other](values, 0)
        assert not other.query()
    other.synchronize()
    assert set(values.copy_to_host(stream=other)) == {2}


class Foreign:
    """A stream of a library that speaks the protocol and nothing else."""

    def __init__(self, stream: gridjit.Stream) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, int(self._stream))


@pytest.mark.parametrize("kind", ["stream", "int", "protocol", "external"])
def test_a_stream_waits_for_another_however_it_is_given(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any, kind: str
) -> None:
    given: Any = {
        "stream": stream,
        "int": int(stream),
        "protocol": Foreign(stream),
        "external": gridjit.external_stream(Foreign(stream)),
    }[kind]
    with Gate(stream):
        add[1, 128, given](values, 1)
        other.wait(given)
        double_and_add[1, 128, other](values, 0)
        assert not other.query()
    other.synchronize()
    assert set(values.copy_to_host(stream=other)) == {2}


def test_an_event_is_of_what_it_was_recorded_after_last(stream: gridjit.Stream, other: gridjit.Stream) -> None:
    event = gridjit.create_event().record(other)
    event.synchronize()
    with Gate(stream):
        event.record(stream)
        assert not event.query()
        event.record(other)
        event.synchronize()
        assert event.query()


def test_an_event_that_was_not_recorded_is_waited_for_by_nobody(stream: gridjit.Stream) -> None:
    event = gridjit.create_event()
    assert event.query()
    event.synchronize()
    stream.wait(event)
    stream.synchronize()


def test_the_default_stream_waits_for_blocking_streams(stream: gridjit.Stream, values: Any) -> None:
    with Gate(stream) as gate:
        add[1, 128, stream](values, 1)
        reached = gridjit.create_event().record(gridjit.default_stream())
        assert not reached.query()
        gate.open()
        double_and_add[1, 128](values, 0)
        assert set(values.copy_to_host()) == {2}
        assert reached.query()


def test_the_default_stream_does_not_wait_for_others(other: gridjit.Stream, values: Any) -> None:
    with Gate(other):
        add[1, 128](values, 1)
        assert set(values.copy_to_host()) == {1}
        assert not other.query()


def test_streams_wait_for_what_the_default_stream_was_given_before(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any
) -> None:
    with Gate(other):
        gridjit.default_stream().wait(other.record())
        add[1, 128, stream](values, 1)
        assert not stream.query()
    stream.synchronize()
    assert set(values.copy_to_host()) == {1}


def an_event(other: gridjit.Stream) -> None:
    gridjit.default_stream().record()


def a_wait_for_what_was_done(other: gridjit.Stream) -> None:
    gridjit.default_stream().wait(other)


def a_callback(other: gridjit.Stream) -> None:
    gridjit.default_stream().on_complete(lambda: None)


@pytest.mark.each_value_once
@pytest.mark.parametrize("what", [an_event, a_wait_for_what_was_done, a_callback], ids=lambda what: what.__name__)
def test_whatever_the_default_stream_is_given_comes_between_blocking_streams_work(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any, what: Callable[[gridjit.Stream], None]
) -> None:
    later = gridjit.create_stream()
    with Gate(stream):
        add[1, 128, later](values, 1)
        later.synchronize()
        what(other)
        add[1, 128, later](values, 1)
        assert not later.query()
    later.synchronize()
    assert set(values.copy_to_host()) == {2}


def test_an_event_in_a_blocking_stream_comes_after_what_the_default_stream_was_given_before(
    stream: gridjit.Stream, other: gridjit.Stream
) -> None:
    with Gate(other):
        gridjit.default_stream().wait(other)
        reached = stream.record()
        assert not reached.query()
    reached.synchronize()


def test_each_thread_has_a_default_stream_of_its_own(values: Any) -> None:
    mine = cuda.per_thread_default_stream()
    with Gate(mine):
        done = []

        def work() -> None:
            add[1, 128, cuda.per_thread_default_stream()](values, 1)
            cuda.per_thread_default_stream().synchronize()
            done.append(mine.query())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
        assert done == [True]
        assert not mine.query()
    mine.synchronize()
    assert set(values.copy_to_host()) == {1}


def test_copies_are_in_their_streams_order(stream: gridjit.Stream, values: Any) -> None:
    copy = cuda.device_array_like(values, stream=stream)
    with Gate(stream):
        add[1, 128, stream](values, 7)
        copy.copy_to_device(values, stream=stream)
        add[1, 128, stream](values, 1)
    assert set(copy.copy_to_host(stream=stream)) == {7}
    assert set(values.copy_to_host(stream=stream)) == {8}


def test_an_array_may_go_while_its_kernel_is_still_to_run(stream: gridjit.Stream, values: Any) -> None:
    with Gate(stream):
        passing = cuda.to_device(np.full(100, 5, np.int64), stream=stream)
        values.copy_to_device(passing, stream=stream)
        add[1, 128, stream](passing, 1)
        del passing
        others = [cuda.to_device(np.full(100, 9, np.int64), stream=stream) for _ in range(20)]
    assert set(values.copy_to_host(stream=stream)) == {5}
    assert {tuple(set(array.copy_to_host(stream=stream))) for array in others} == {(9,)}


def test_who_takes_memory_in_place_and_knows_no_streams_finds_the_work_done(target: str) -> None:
    if target != "host":
        pytest.skip("a GPU's memory is not the host's to read")
    stream = gridjit.create_stream(nonblocking=True)
    looks = (
        lambda array: np.from_dlpack(array),
        lambda array: np.asarray(gridjit.StridedMemoryView(array)),
        lambda array: np.frombuffer(gridjit.StridedMemoryView(array).__buffer__(0), np.int64),
    )
    for look in looks:
        array = cuda.to_device(np.zeros(100, np.int64), stream=stream)
        opened = threading.Event()
        stream.on_complete(lambda opened=opened: opened.wait(60))  # type: ignore[misc]
        add[1, 128, stream](array, 1)
        opener = threading.Timer(0.0, opened.set)
        opener.start()
        assert set(look(array)) == {1}
        opener.join()


class Exports:
    """An array of a library that has the CUDA array interface and nothing else."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._array.__cuda_array_interface__
        return interface


def test_a_launch_waits_for_the_stream_that_an_array_names(stream: gridjit.Stream, other: gridjit.Stream) -> None:
    array = cuda.to_device(np.zeros(100, np.int64), stream=stream)
    with Gate(stream):
        add[1, 128, stream](array, 1)
        double_and_add[1, 128, other](Exports(array), 0)
        assert not other.query()
    other.synchronize()
    assert set(array.copy_to_host()) == {2}


def test_an_array_of_another_librarys_is_copied_in_the_current_stream_after_its_own_work(
    stream: gridjit.Stream, other: gridjit.Stream
) -> None:
    array = cuda.to_device(np.zeros(100, np.int64), stream=stream)
    copy = cuda.device_array(100, np.int64, stream=other)
    with Gate(stream) as gate, other:
        add[1, 128, stream](array, 1)
        threading.Thread(target=gate.open).start()
        cuda.to_device(Exports(array), to=copy)
    assert set(copy.copy_to_host(stream=other)) == {1}


# -- the current stream ----------------------------------------------------------------------------------------------


def test_launches_and_copies_that_name_no_stream_are_in_the_current_one(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any
) -> None:
    with Gate(stream), stream:
        add[1, 128](values, 1)
        add[1, 128](values, 1)
        assert gridjit.current_stream() is stream
        assert not gridjit.create_event().record().query()
        assert cuda.device_array(3).stream is stream
        add[1, 128, other](cuda.to_device(np.zeros(100, np.int64), stream=other), 1)
        other.synchronize()
        assert not stream.query()
    assert set(values.copy_to_host(stream=stream)) == {2}


@pytest.mark.parametrize("current", [None, 0])
def test_a_stream_waits_for_the_current_one_where_none_is_named(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any, current: Any
) -> None:
    nonblocking = gridjit.create_stream(nonblocking=True)
    with Gate(nonblocking), nonblocking:
        other.wait(current)
        assert not other.record().query()
    other.synchronize()


@pytest.mark.parametrize("current", [None, 0])
def test_a_graph_runs_in_the_current_stream_where_none_is_named(
    stream: gridjit.Stream, other: gridjit.Stream, values: Any, current: Any
) -> None:
    with gridjit.graph() as graph:
        add[1, 128, graph.stream](values, 1)
    with Gate(other), other:
        graph.launch(current)
        assert not other.record().query()
        assert not set(values.copy_to_host(stream=stream)) - {0}
    other.synchronize()
    assert set(values.copy_to_host()) == {1}


def test_a_configured_kernel_is_in_the_stream_that_is_current_when_it_is_called(
    stream: gridjit.Stream, values: Any
) -> None:
    configured = add[1, 128]
    for _ in range(6):
        configured(values, 1)
    cuda.synchronize()
    with Gate(stream):
        with stream:
            for _ in range(6):
                configured(values, 1)
        assert not stream.query()
    assert set(values.copy_to_host()) == {12}
    configured(values, 1)
    assert set(values.copy_to_host()) == {13}


def test_a_block_that_is_left_after_another_has_begun_leaves_that_ones_stream_current(
    stream: gridjit.Stream, other: gridjit.Stream
) -> None:
    def items() -> Iterator[int]:
        with stream:
            yield 1

    pending = items()
    next(pending)
    assert gridjit.current_stream() is stream
    with other:
        pending.close()  # type: ignore[attr-defined]
        assert gridjit.current_stream() is other
    assert gridjit.current_stream() not in (stream, other)


def test_current_streams_nest_and_are_left_by_exceptions(stream: gridjit.Stream, other: gridjit.Stream) -> None:
    assert gridjit.current_stream().handle == 0
    with stream:
        with pytest.raises(KeyError), other, stream:
            with other:
                assert gridjit.current_stream() is other
            assert gridjit.current_stream() is stream
            raise KeyError
        assert gridjit.current_stream() is stream
        with stream:
            pass
        assert gridjit.current_stream() is stream
    assert gridjit.current_stream().handle == 0
    assert stream.alive


def test_the_default_stream_can_be_named_where_another_is_current(stream: gridjit.Stream, values: Any) -> None:
    other = gridjit.create_stream(nonblocking=True)
    with Gate(other), other:
        add[1, 128, gridjit.default_stream()](values, 1)
        assert set(values.copy_to_host(stream=gridjit.default_stream())) == {1}
        assert not other.query()
    other.synchronize()


def test_each_thread_has_a_current_stream_of_its_own(stream: gridjit.Stream, values: Any) -> None:
    seen: list[Any] = []

    def work() -> None:
        seen.append(gridjit.current_stream().handle)
        add[1, 128](values, 1)

    with stream:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert seen == [0]
    assert set(values.copy_to_host()) == {1}


def test_tasks_of_one_loop_keep_their_own_current_streams(values: Any) -> None:
    other = cuda.device_array_like(values)
    other.copy_to_device(values)

    async def task(turns: list[Any], values: Any) -> None:
        stream = gridjit.create_stream()
        with stream:
            for _ in range(3):
                add[1, 128](values, 1)
                turns.append(gridjit.current_stream())
                await stream.done()
                assert gridjit.current_stream() is stream

    async def main() -> list[Any]:
        turns: list[Any] = []
        await asyncio.gather(task(turns, values), task(turns, other))
        return turns

    turns = asyncio.run(main())
    assert turns[0] is not turns[1]
    assert set(values.copy_to_host()) == set(other.copy_to_host()) == {3}


def test_a_closed_stream_cannot_become_current() -> None:
    stream = gridjit.create_stream()
    stream.close()
    with pytest.raises(DeviceError, match=r"stream 0x.* was closed"), stream:
        pass
    assert gridjit.current_stream().handle == 0


# -- callbacks and waiting -------------------------------------------------------------------------------------------


def test_callbacks_are_called_in_order_when_the_work_before_them_is_done(stream: gridjit.Stream, values: Any) -> None:
    seen: list[Any] = []
    with Gate(stream):
        stream.on_complete(lambda: seen.append("first"))
        add[1, 128, stream](values, 1)
        stream.add_callback(lambda *given: seen.append(given[1:]), "second")
        assert seen == []
    stream.synchronize()
    assert seen == ["first", (0, "second")]


def test_what_a_callback_raises_is_reported_and_stops_nothing(
    stream: gridjit.Stream, values: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", reported.append)

    def fail() -> None:
        raise KeyError("of the callback")

    stream.on_complete(fail)
    add[1, 128, stream](values, 1)
    stream.synchronize()
    assert [report.exc_type for report in reported] == [KeyError]
    assert set(values.copy_to_host()) == {1}


def test_awaiting_a_stream_lets_other_tasks_run(stream: gridjit.Stream, values: Any) -> None:
    async def main() -> Any:
        with Gate(stream) as gate:
            add[1, 128, stream](values, 1)
            waiting = stream.done()
            await asyncio.sleep(0)
            assert not waiting.done()
            gate.open()
            first = await waiting
        return first, await stream.async_done()

    assert asyncio.run(main()) == (stream, stream)
    assert set(values.copy_to_host()) == {1}


def test_waiting_for_a_stream_needs_a_loop(stream: gridjit.Stream) -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        stream.done()


def test_priorities_are_kept_within_what_the_device_has() -> None:
    low, high = gridjit.create_stream(priority=100), gridjit.create_stream(priority=-100)
    plain = gridjit.create_stream()
    assert low.priority >= plain.priority >= high.priority
    assert high.priority < 0


# -- many threads ----------------------------------------------------------------------------------------------------


def launches_cross(threads: int, launches: int) -> list[str]:
    """Return what went wrong when so many threads launched so often, each in a stream of its own."""
    begin, wrong = threading.Barrier(threads), []

    def work(number: int) -> None:
        stream = gridjit.create_stream(nonblocking=bool(number % 2))
        mine = cuda.to_device(np.zeros(64, np.int64), stream=stream)
        begin.wait(60)
        expected = 0
        with stream:
            for turn in range(launches):
                if turn % 3:
                    add[1, 64](mine, number + turn)
                    expected += number + turn
                else:
                    double_and_add[1, 64, stream](mine, turn)
                    expected = 2 * expected + turn
                expected = (expected + 2**63) % 2**64 - 2**63
        found = set(mine.copy_to_host(stream=stream))
        if found != {expected}:
            wrong.append(f"thread {number}: {found}, not {expected}")
        stream.close()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return wrong


def test_launches_of_threads_in_streams_of_their_own_never_cross() -> None:
    assert launches_cross(16, 60) == []


@pytest.mark.slow
def test_ten_thousand_launches_of_each_of_sixteen_threads_never_cross() -> None:
    assert launches_cross(16, 10_000) == []
