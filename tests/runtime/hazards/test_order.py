"""What orders work, and what only seems to: the default stream's events, graphs, and waits that fail or only ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import DeviceError, HazardError, cuda
from gridjit.runtime.queues.timeline import HOST
from tests.runtime.hazards.work import add, ones, scale

pytestmark = pytest.mark.usefixtures("checked")


@pytest.fixture
def third() -> gridjit.Stream:
    """Another stream that the default stream is ordered with."""
    return gridjit.create_stream()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a stream's callback waits for."""
    made = threading.Event()
    yield made
    made.set()
    cuda.synchronize()


def an_event() -> None:
    gridjit.create_event().record(gridjit.default_stream())


def a_wait_for_an_event_that_came() -> None:
    gridjit.default_stream().wait(gridjit.create_stream(nonblocking=True).record())


def a_callback() -> None:
    gridjit.default_stream().on_complete(lambda: None)


def a_graph() -> None:
    with gridjit.graph() as graph:
        scale[1, 64, graph.stream](of_its_own, 1.0)
    graph.launch(gridjit.default_stream())


def a_launch_without_arrays() -> None:
    nothing[1, 1, gridjit.default_stream()](1)


@gridjit.jit
def nothing(number: int) -> None:
    pass


of_its_own: Any = None
BETWEEN = (an_event, a_wait_for_an_event_that_came, a_callback, a_graph, a_launch_without_arrays)


@pytest.mark.each_value_once
@pytest.mark.parametrize("was_used", [False, True])
@pytest.mark.parametrize("what", BETWEEN, ids=lambda what: what.__name__)
def test_what_the_default_stream_is_given_orders_blocking_streams(
    what: Callable[[], None], was_used: bool, first: Any, third: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "of_its_own", ones())
    x, y = ones(), ones()
    what()
    if was_used:
        scale[1, 64, third](y, 2.0)
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, third](x, 2.0)
    what()
    scale[1, 64, third](x, 2.0)


@pytest.mark.parametrize("was_used", [False, True])
def test_a_question_orders_nothing(was_used: bool, first: Any, third: Any, gate: threading.Event) -> None:
    x, y = ones(), ones()
    scale[1, 64](ones(), 2.0)
    first.on_complete(lambda: gate.wait(60))
    if was_used:
        scale[1, 64, third](y, 2.0)
    scale[1, 64, first](x, 2.0)
    assert not gridjit.default_stream().query()
    with pytest.raises(HazardError):
        scale[1, 64, third](x, 2.0)


@gridjit.jit
def fail(values: Any) -> None:
    if values[0] != 0:
        raise ValueError("it went wrong")


def test_a_question_that_raises_what_went_wrong_says_nothing_of_later_work(
    first: Any, second: Any, gate: threading.Event
) -> None:
    x, y, failed = ones(), ones(), threading.Event()
    fail[1, 1, first](y)
    first.on_complete(lambda: (failed.set(), gate.wait(60)))
    scale[1, 64, first](x, 2.0)
    assert failed.wait(60)
    with pytest.raises(ValueError, match="it went wrong"):
        first.query()
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)


def test_a_wait_that_is_refused_orders_nothing(first: Any, second: Any, gate: threading.Event) -> None:
    x, given, refused, raised = ones(), threading.Event(), threading.Event(), []

    def wait_for_itself() -> None:
        given.wait(60)
        try:
            first.synchronize()
        except DeviceError as error:
            raised.append(error)
        refused.set()
        gate.wait(60)

    first.on_complete(wait_for_itself)
    scale[1, 64, first](x, 2.0)
    given.set()
    assert refused.wait(60)
    assert raised
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)


def test_a_wait_that_is_captured_orders_the_graph_alone(
    first: Any, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ones()
    scale[1, 64, first](x, 2.0)
    with monkeypatch.context() as patch:
        patch.setattr(HOST, "capturing", {first.handle, second.handle}.__contains__)
        event = first.record()
        second.wait(event)
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)
    second.wait(event)
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)


@gridjit.jit
def add_rows(into: Any, values: Any, weights: Any) -> None:
    i, j = cuda.grid(2)
    if i < values.shape[0] and j < values.shape[1]:
        into[i, j] += values[i, j] * weights[j]
        if values[i, j] < 0:
            into[j, i] -= weights[i]


VIEWS = {"steps": np.s_[::2, ::3], "backwards": np.s_[::-1, ::-1], "columns": np.s_[:, 2:5], "one": np.s_[3:4, ::2]}


@pytest.mark.each_value_once
@pytest.mark.parametrize("key", VIEWS.values(), ids=VIEWS)
def test_two_streams_may_read_the_same_view_however_its_items_lie(key: Any, first: Any, second: Any) -> None:
    square = cuda.to_device(np.ones((16, 16)))
    x, weights = square[key], cuda.to_device(np.ones(64))[::2]
    into, other = (cuda.to_device(np.zeros((32, 16)))[::2] for _ in range(2))
    add_rows[1, (16, 16), first](into, x, weights)
    add_rows[1, (16, 16), second](other, x, weights)
    with pytest.raises(HazardError, match="may still write array 'into'"):
        add_rows[1, (16, 16), second](other, into, weights)
    with pytest.raises(HazardError, match="may still read array 'values'"):
        add_rows[1, (16, 16), second](x, other, weights)


def test_two_streams_may_read_the_same_steps_of_an_array(first: Any, second: Any) -> None:
    x, into, other = ones(128)[::2], ones(), ones()
    add[1, 64, first](into, x)
    add[1, 64, second](other, x)
    with pytest.raises(HazardError, match=r"may write array 'values' while add .* may still read it"):
        scale[1, 64, second](x, 2.0)


def test_work_that_is_refused_in_a_blocking_stream_leaves_it_nothing_to_wait_for(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    scale[1, 64](x, 2.0)
    scale[1, 64, second](y, 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, first](y, 2.0)
    first.synchronize()
    with pytest.raises(HazardError, match="the default stream"):
        scale[1, 64, second](x, 2.0)
