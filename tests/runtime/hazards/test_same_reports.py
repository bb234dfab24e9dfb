"""Any program is told of the same hazards, whoever looks at its launches: all in full, Python or machine code first."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gridjit
from gridjit import HazardError, cuda
from gridjit.runtime.hazards.attached import AttachedChecker
from gridjit.runtime.hazards.repeats import Repeats
from gridjit.runtime.native.probes import object_layout

# A launch, with one of the kernels' own objects or one of its own, or something else that is done with streams.
LAUNCHES = ("scale", "add", "scale again", "add again", "scale there", "scale chosen")
OTHERS = ("record", "wait for event", "wait", "synchronize", "event's", "copy", "new", "look", "fresh", "view")
STEPS = st.tuples(
    st.one_of(st.sampled_from(LAUNCHES), st.sampled_from(LAUNCHES), st.sampled_from(OTHERS)),
    st.sampled_from((1, 1, 1, 2, 3, 0)),  # a stream
    st.integers(0, 3),  # another
    st.sampled_from((0, 0, 1, 2, 3)),  # an array
    st.integers(0, 3),  # another
)
Step = tuple[str, int, int, int, int]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Few steps, each of them done many times, in turns and in a row: so much is done again."""
    steps = draw(st.lists(STEPS, min_size=4, max_size=8))
    places, times = st.integers(0, len(steps) - 1), st.sampled_from((1, 1, 2, 4))
    turns = draw(st.lists(st.tuples(places, times), min_size=20, max_size=40))
    return [steps[at] for at, times in turns for _ in range(times)]


class Program:
    """What a program works with. What came of each step is what was raised, without numbers that differ anyway."""

    def __init__(self, kernels: tuple[Any, Any]) -> None:
        self.kernels = kernels
        self.streams = [gridjit.default_stream(), *(gridjit.create_stream(nonblocking=n == 2) for n in range(3))]
        self.arrays = [cuda.to_device(np.ones(64)) for _ in range(2)]
        self.arrays += [self.arrays[0][:40], self.arrays[0][30:]]
        self.event = gridjit.create_event()
        scale, add = kernels
        self.scales = [scale[1, 64, stream] for stream in self.streams]
        self.adds = [add[1, 64, stream] for stream in self.streams]
        cuda.synchronize()

    def run(self, steps: list[Step]) -> list[str]:
        came = [self.came_of(step) for step in steps]
        cuda.synchronize()
        return came

    def came_of(self, step: Step) -> str:
        try:
            self.do(*step)
        except HazardError as error:
            return re.sub("0x[0-9a-f]+", "0x", str(error))
        return ""

    def do(self, what: str, one: int, other: int, here: int, there: int) -> None:
        scale, add = self.kernels
        stream, x, y = self.streams[one], self.arrays[here], self.arrays[there]
        if what == "scale":
            scale[1, 64, stream](x, 1.0)
        elif what == "add":
            add[1, 64, stream](x, y)
        elif what == "scale again":
            self.scales[one](x, 1.0)
        elif what == "add again":
            self.adds[one](x, y)
        elif what == "scale there":
            self.scales[one](x, 1.0)
        elif what == "scale chosen":
            with stream:
                scale[1, 64](x, 1.0)
        else:
            self.order(what, stream, self.streams[other], x, y, here)

    def order(self, what: str, stream: Any, other: Any, x: Any, y: Any, here: int) -> None:
        if what == "record":
            self.event.record(stream)
        elif what == "wait for event":
            stream.wait(self.event)
        elif what == "wait":
            stream.wait(other)
        elif what == "synchronize":
            stream.synchronize()
        elif what == "event's":
            self.event.synchronize()
        elif what == "copy" and x.shape == y.shape:
            x.copy_to_device(y, stream=stream)
        elif what == "new":
            self.arrays[here] = cuda.device_array(64, stream=stream)
        elif what == "look":
            x.copy_to_host(stream=stream)
        elif what == "fresh":
            self.arrays[here] = cuda.to_device(np.ones(64))
        elif what == "view":
            self.arrays[here] = y[8:]


def kernels() -> tuple[Any, Any]:
    """Return kernels whose launches nobody else makes."""

    @gridjit.jit
    def scale(values: Any, factor: float) -> None:
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= factor

    @gridjit.jit
    def add(into: Any, values: Any) -> None:
        i = cuda.grid(1)
        if i < values.size and i < into.size:
            into[i] += values[i]

    return scale, add


def came_of(way: str, kernels: tuple[Any, Any], steps: list[Step]) -> list[str]:
    """Return what came of a program whose launches are looked at in one way."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "in full":
            patch.setattr(Repeats, "add", lambda *_: None)
        if way == "by Python":
            patch.setattr(AttachedChecker, "function_for", lambda *_: 0)
        return Program(kernels).run(steps)


@pytest.fixture
def known(
    monkeypatch: pytest.MonkeyPatch, cache_dir: Any, restart: Callable[[], None]
) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Kernels for each way to look at launches; those that machine code looks at are known to it."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_CHECK_STREAMS", "1")
    restart()
    yield {way: kernels() for way in ("in full", "by Python", "by machine code")}
    cuda.synchronize()
    monkeypatch.delenv("GRIDJIT_CHECK_STREAMS")
    restart()


def less_earlier_work(refused: str) -> str:
    """Return an error's text without the work that it names as the earlier one."""
    return re.sub(" while .* may still [^:]*:", " while:", refused)


TURNS: list[Step] = [("scale again", 1, 0, 0, 0), ("add again", 1, 0, 1, 0)] * 50


@pytest.mark.skipif(
    object_layout() is None or sys.version_info < (3, 11), reason="this interpreter looks at launches from Python"
)
def test_machine_code_looks_at_launches_that_take_turns(
    known: dict[str, tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program(known["by machine code"])
    for step in TURNS:
        program.do(*step)
    with monkeypatch.context() as patch:
        patch.delattr(Repeats, "again")
        for step in TURNS:
            program.do(*step)
    second_stream = ("scale again", 2, 0, 0, 0)
    (refused,) = program.run([second_stream])
    assert "while scale (test_same_reports.py" in refused


@settings(suppress_health_check=list(HealthCheck))
@given(steps=programs())
def test_the_same_hazards_are_found_whoever_looks(known: dict[str, tuple[Any, Any]], steps: list[Step]) -> None:
    found = {way: came_of(way, made, steps) for way, made in known.items()}
    # Of several that wrote memory and were not looked at again, any may be named. Which one is depends on how busy a
    # stream is: a launch that machine code cannot make is looked at by Python.
    assert [*map(less_earlier_work, found["by machine code"])] == [*map(less_earlier_work, found["by Python"])]
    assert list(map(bool, found["by Python"])) == list(map(bool, found["in full"]))
