"""Random programs: exactly the hazards are found that there are by CUDA's rules, and the host's streams keep these."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gridjit
from gridjit import cuda
from tests.runtime.hazards.happens_before import LEGACY, HappensBefore
from tests.runtime.hazards.random_programs import BLOCKING, DEFAULT, OTHERS, Program, Step, programs


@pytest.fixture
def other_thread(checked: Any) -> Iterator[ThreadPoolExecutor]:
    """Another thread, the same for all programs of a test."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


@settings(suppress_health_check=list(HealthCheck))
@given(steps=programs())
def test_a_random_program_is_told_of_all_its_hazards_and_of_nothing_else(
    other_thread: ThreadPoolExecutor, steps: list[Step]
) -> None:
    Program(other_thread).run(steps)
    cuda.synchronize()


def step(what: str, stream: int, **others: Any) -> Step:
    """Return a step, by default of the first thread, with the first arrays."""
    plain: dict[str, Any] = {"thread": 0, "within": (), "other": 0, "array": 0, "second": 1, "event": 0}
    return Step(what=what, stream=stream, **plain | others)


def test_the_rules_refuse_and_allow(other_thread: ThreadPoolExecutor) -> None:
    """Both happen: a program of which all steps are in order, or none, would say nothing."""
    steps = [step("scale again", 1), step("look again", 2), step("record", DEFAULT), step("look again", 2)]
    assert Program(other_thread).run([*steps, step("look again", 3), step("scale", 1)]) == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]


# -- whether the host does it in that order --------------------------------------------------------------------------

ORDERS = ("work", "work", "record", "wait", "wait for stream", "let one end")
TURNS = st.lists(
    st.tuples(st.sampled_from(ORDERS), st.sampled_from((0, 0, 1, 1, 2, 3, 4)), st.integers(0, 4), st.integers(0, 2)),
    min_size=5,
    max_size=25,
)


class Pieces:
    """Work in streams, each piece of which begins by itself and ends when it is let."""

    def __init__(self, rules: HappensBefore) -> None:
        self._rules = rules
        self._changed = threading.Condition()
        self._before: dict[int, int] = {}
        self._begun: set[int] = set()
        self._let: set[int] = set()
        self._ended = 0
        self.too_early: list[int] = []

    def give(self, stream: Any, name: str) -> None:
        """Give a stream a piece of work."""
        with self._changed:
            before = self._rules.before(name)
            piece = self._rules.give(name) & ~before
            self._before[piece] = before
        stream.on_complete(lambda: self._work(piece))

    def _work(self, piece: int) -> None:
        with self._changed:
            self._begun.add(piece)
            if any(one & self._before[piece] and not one & self._ended for one in self._before):
                self.too_early.append(piece)
            self._changed.notify_all()
            self._changed.wait_for(lambda: piece in self._let, 60)
            self._ended |= piece
            self._changed.notify_all()

    def let_one_end(self, number: int) -> None:
        """Let one end of those that may have begun by now, all of which then have."""
        with self._changed:
            left = [one for one in self._before if not one & self._ended]
            ready = [one for one in left if not any(other & self._before[one] for other in left)]
            assert self._changed.wait_for(lambda: self._begun.issuperset(ready), 10), "work waits for what it need not"
            if ready:
                self._let.add(chosen := ready[number % len(ready)])
                self._changed.notify_all()
                assert self._changed.wait_for(lambda: chosen & self._ended, 60)

    def end(self) -> None:
        """Let all end, one by one."""
        for number, _ in enumerate(self._before):
            self.let_one_end(number)

    def let_all(self) -> None:
        """Let all end in any order, after an error."""
        with self._changed:
            self._let.update(self._before)
            self._changed.notify_all()


@settings(suppress_health_check=list(HealthCheck))
@given(turns=TURNS)
def test_the_hosts_streams_begin_work_as_soon_as_the_rules_allow_and_not_earlier(
    on_host: None, turns: list[tuple[str, int, int, int]]
) -> None:
    rules = HappensBefore()
    streams = [(gridjit.default_stream(), LEGACY)]
    for number in (*BLOCKING, *OTHERS):
        streams.append((gridjit.create_stream(nonblocking=number in OTHERS), str(number)))
        rules.add_stream(str(number), blocking=number in BLOCKING)
    events, pieces = [gridjit.create_event() for _ in range(3)], Pieces(rules)
    try:
        for what, one, other, event in turns:
            (stream, name), (second, second_name) = streams[one], streams[other]
            if what == "work":
                pieces.give(stream, name)
            elif what == "record":
                events[event].record(stream)
                rules.record(event, name)
            elif what == "wait":
                stream.wait(events[event])
                rules.wait(name, event)
            elif what == "let one end":
                pieces.let_one_end(other)
            elif one != other:
                stream.wait(second)
                rules.wait_for_stream(name, second_name)
        pieces.end()
    finally:
        pieces.let_all()
        cuda.synchronize()
    assert not pieces.too_early
