"""Phases: the time of a compile is told by what it was spent on, and adds up."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values import phases
from gridjit.compiler.values.phases import OTHER, Phases, phase, phases_text, phases_until_now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on when the test says so: its only item is the time, in seconds."""
    now = [0.0]
    monkeypatch.setattr(phases, "clock", lambda: now[0])
    return now


def test_time_counts_for_the_innermost_phase(clock: list[float]) -> None:
    with Phases() as recorded:
        clock[0] += 1
        with phase("type inference"):
            clock[0] += 2
            with phase("lowering"):
                clock[0] += 4
            clock[0] += 8
        with phase("lowering"):
            clock[0] += 16
    assert recorded.milliseconds() == {OTHER: 1e3, "type inference": 10e3, "lowering": 20e3}


def test_a_phase_that_an_error_ends_has_ended(clock: list[float]) -> None:
    with Phases() as recorded:
        with pytest.raises(ValueError), phase("link"):
            clock[0] += 1
            raise ValueError
        clock[0] += 2
    assert recorded.milliseconds() == {OTHER: 2e3, "link": 1e3}


def test_a_block_may_begin_with_a_phase_that_ends_before_it(clock: list[float]) -> None:
    with Phases() as recorded, phase("wait for others") as waiting:
        clock[0] += 1
        waiting.end()
        clock[0] += 2
    assert recorded.milliseconds() == {OTHER: 2e3, "wait for others": 1e3}


def test_a_compile_inside_another_has_phases_of_its_own(clock: list[float]) -> None:
    with Phases() as outer, phase("type inference"):
        clock[0] += 1
        with Phases() as inner, phase("link"):
            clock[0] += 2
        assert phases_until_now()["type inference"] == 3e3
    assert outer.milliseconds() == {OTHER: 0.0, "type inference": 3e3}
    assert inner.milliseconds() == {OTHER: 0.0, "link": 2e3}


def test_outside_a_compile_no_phase_is_recorded() -> None:
    with phase("link"):
        assert phases_until_now() == {}


def test_the_longest_phases_are_told_first_and_all_of_them_counted() -> None:
    told = phases_text({"key": 1.0, "link": 30.0, OTHER: 2.0, "PTX": 20.0}, most=3)
    assert told == "link 30.0 ms, PTX 20.0, others 3.0"
    assert phases_text({}) == phases_text({OTHER: 0.01}) == ""


@gridjit.jit(device=True)
def squared(value):
    return value * value


@gridjit.jit
def squares(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = squared(x[i])


def test_a_specialization_tells_all_that_its_time_went_to() -> None:
    started = time.perf_counter()
    kernel = gridjit.jit(squares.py_func)
    kernel[1, 8](np.ones(8))
    took = (time.perf_counter() - started) * 1e3
    (found,) = kernel.specializations
    front_end = {"untyped passes", "type inference", "typed passes", "lowering", "LLVM IR text"}
    assert found.phases.keys() >= {"key", "look-up", "dependencies", "store", "host: optimization", *front_end}
    assert all(found.phases[name] > 0 for name in front_end)
    assert found.milliseconds * 0.9 <= sum(found.phases.values()) <= took


def test_explain_and_the_log_tell_where_the_time_went(
    restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_LOG", "compiles")
    restart()
    kernel = gridjit.jit(squares.py_func)
    kernel[1, 8](np.ones(8))
    (found,) = kernel.specializations
    told = phases_text(found.phases)
    assert " ms, " in told
    assert f"   took: {told}\n" in kernel.explain()
    assert f"{found.reason}; {told}\n" in capsys.readouterr().err


def test_what_came_from_disk_tells_its_own_time_and_that_of_its_compile(restart: Callable[[], None]) -> None:
    gridjit.jit(squares.py_func)[1, 8](np.ones(8))
    restart()
    kernel = gridjit.jit(squares.py_func)
    kernel[1, 8](np.ones(8))
    (found,) = kernel.specializations
    assert found.origin == "disk"
    assert "lowering" not in found.phases
    assert found.phases["look-up"] > 0
    assert found.metadata["phases"]["lowering"] > 0
