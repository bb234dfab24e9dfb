"""Streams and events that are used wrongly: an error says what was given and the way on, and none is lost."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ArgumentError, cuda
from gridjit.compiler.values.errors import LaunchError
from tests.programs import run_python

pytestmark = pytest.mark.usefixtures("target")


@gridjit.jit
def add(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


@pytest.mark.parametrize(
    "use",
    [
        lambda values: add[1, 4, 1 << 30](values, 1),  # the bytes of shared memory, where the stream is expected
        lambda values: add[1, 4, gridjit.external_stream(99 << 30)](values, 1),
        lambda values: cuda.to_device(values, stream=12345 << 30),
    ],
)
def test_a_stream_that_was_never_made_is_refused_on_the_host(use: Any, target: str) -> None:
    if target != "host":
        pytest.skip("a driver takes any address for a stream's")
    with pytest.raises(gridjit.DeviceError, match=r"stream \d+ was never made: give what create_stream\(\) returns"):
        use(np.zeros(4))


@pytest.mark.parametrize("raised", ["RuntimeError('of the callback')", "KeyboardInterrupt", "SystemExit(3)"])
def test_what_a_callback_raises_is_shown_as_python_shows_it_and_reaches_nobody_else(raised: str) -> None:
    program = f"""
import gridjit

def my_callback():
    raise {raised}

stream = gridjit.create_stream()
stream.on_complete(my_callback)
stream.synchronize()
print("went on")
"""
    done = run_python("-c", program)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "Exception ignored" in done.stderr and "a callback of a stream, <function my_callback" in done.stderr
    assert raised.partition("(")[0] in done.stderr.splitlines()[-1]
    assert "TypeError" not in done.stderr


def test_a_hook_that_hands_on_to_pythons_own_gets_what_a_callback_raises(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen, there = [], threading.Event()

    def hook(report: Any) -> None:
        sys.__unraisablehook__(report)
        seen.append(report.exc_value)
        there.set()

    monkeypatch.setattr("sys.unraisablehook", hook)
    stream, error = gridjit.create_stream(), KeyError("of the callback")

    def fail() -> None:
        raise error

    stream.on_complete(fail)
    stream.synchronize()
    assert there.wait(60)
    assert seen == [error]
    assert "of the callback" in capsys.readouterr().err


class Lying:
    """An object that says it is a stream."""

    def __init__(self, said: Any) -> None:
        self._said = said

    def __cuda_stream__(self) -> Any:
        return self._said


SAID = (None, 5, (), (0,), (0, 1, 2), "ab", (0, "x"), (0, None), (0, 3.5), (0, b"7"))


@pytest.mark.parametrize("said", SAID, ids=repr)
def test_an_object_that_gives_no_handle_as_its_stream_is_refused_with_what_it_gave(said: Any) -> None:
    lying, stream = Lying(said), gridjit.create_stream()
    for use in (stream.wait, gridjit.external_stream, gridjit.create_event().record):
        with pytest.raises(ArgumentError, match=r"__cuda_stream__; it has to be \(0, handle\)"):
            use(lying).synchronize()  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [None, 5, "print"])
def test_a_callback_that_cannot_be_called_is_refused_when_it_is_given(given: Any) -> None:
    stream = gridjit.create_stream()
    with pytest.raises(ArgumentError, match=r"on_complete: .* cannot be called; give a function without"):
        stream.on_complete(given)
    with pytest.raises(ArgumentError, match=r"add_callback: .* cannot be called; give a function of"):
        stream.add_callback(given)
    stream.synchronize()


def test_what_is_not_an_event_is_refused_by_name_where_an_event_is_asked_for() -> None:
    stream, event = gridjit.create_stream(), gridjit.create_event()
    for use in (
        lambda: event.elapsed_time("later"),  # type: ignore[arg-type]
        lambda: stream.record("later"),  # type: ignore[arg-type]
        lambda: cuda.event_elapsed_time("later", event),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentError, match=r"'later' is a str, not an event; make one with"):
            use()


def test_a_stream_that_is_recorded_cannot_be_waited_for_as_its_work_is_not_done_then() -> None:
    values, stream = cuda.to_device(np.zeros(8, np.int64)), gridjit.create_stream()

    async def wait() -> None:
        await stream.done()

    with gridjit.graph(stream) as g:
        add[1, 32, stream](values, 1)
        for use in (
            stream.synchronize,
            stream.query,
            lambda: gridjit.external_stream(stream).synchronize(),
            lambda: stream.on_complete(lambda: None),
            lambda: asyncio.run(wait()),
        ):
            with pytest.raises(LaunchError, match=r"is being recorded into a graph.* after the with block"):
                use()
    g.launch()
    stream.synchronize()
    assert set(values.copy_to_host()) == {1}
