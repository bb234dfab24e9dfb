"""The garbage collector runs rarely while a kernel is compiled, and as the program has it before and after."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.numba_state import mark
from gridjit.compiler.process import collecting
from gridjit.compiler.process.collecting import (
    HARDLY_EVER,
    RARELY,
    collecting_rarely,
    freeze_for_good,
    making_what_stays,
)
from tests.compiler.frontend.making import begin_anew


@pytest.fixture(autouse=True)
def usual() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield 700, 10, 10
    gc.set_threshold(*before)
    gc.freeze()


def test_the_collector_runs_rarely_while_work_is_done(usual: tuple[int, int, int]) -> None:
    assert collecting_rarely(gc.get_threshold)[0] == RARELY
    assert gc.get_threshold() == usual


def test_a_collector_that_the_program_turned_off_stays_off() -> None:
    gc.set_threshold(0)
    assert collecting_rarely(gc.get_threshold)[0] == 0


def test_a_higher_threshold_of_the_programs_stays() -> None:
    gc.set_threshold(RARELY + 1)
    assert collecting_rarely(gc.get_threshold)[0] == RARELY + 1


def test_what_the_program_sets_while_work_is_done_stays() -> None:
    collecting_rarely(lambda: gc.set_threshold(900, 5, 5))
    assert gc.get_threshold() == (900, 5, 5)


def test_work_that_fails_leaves_the_collector_as_it_was(usual: tuple[int, int, int]) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collecting_rarely(fail)
    assert gc.get_threshold() == usual


def test_work_inside_work_leaves_the_collector_to_the_outer_one(usual: tuple[int, int, int]) -> None:
    def outer() -> int:
        collecting_rarely(gc.get_threshold)
        return gc.get_threshold()[0]

    assert collecting_rarely(outer) == RARELY
    assert gc.get_threshold() == usual


class Held:
    """Something that the collector keeps track of."""


def test_what_stays_is_old_at_once_and_was_not_gone_through() -> None:
    seen: list[int] = []

    def make() -> list[Held]:
        seen.append(gc.get_threshold()[0])
        return [Held() for _ in range(1000)]

    found = collecting_rarely(lambda: making_what_stays(make))
    old = {id(one) for one in gc.get_objects(generation=2)}
    assert seen == [HARDLY_EVER]
    assert all(id(one) in old for one in found)


def test_what_a_first_look_at_numbas_code_keeps_is_old_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numba_cuda()
    begin_anew(monkeypatch)
    collecting_rarely(lambda: mark.numbas_mark({}))
    old = {id(one) for one in gc.get_objects(generation=2)}
    copies = [one for one in mark._watch.first.then.values() if gc.is_tracked(one)]
    assert len(copies) > 1000
    assert all(id(one) in old for one in copies)


def test_after_what_stays_was_made_the_collector_runs_as_rarely_as_before(usual: tuple[int, int, int]) -> None:
    def work() -> int:
        making_what_stays(lambda: None)
        return gc.get_threshold()[0]

    assert collecting_rarely(work) == RARELY
    assert gc.get_threshold() == usual


def test_what_a_program_keeps_from_the_collector_stays_so() -> None:
    kept = Held()
    gc.freeze()
    try:
        collecting_rarely(lambda: making_what_stays(lambda: None))
        assert all(one is not kept for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_in_a_process_that_keeps_all_from_the_collector_what_stays_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "_frozen_for_good", False)
    freeze_for_good()
    made: list[Held] = []
    try:
        collecting_rarely(lambda: making_what_stays(lambda: made.append(Held())))
        assert all(one is not made[0] for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_what_stays_fails_and_leaves_the_collector_as_it_was(usual: tuple[int, int, int]) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collecting_rarely(lambda: making_what_stays(fail))
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("first", [0, RARELY + 1])
def test_what_stays_is_made_under_the_programs_own_setting(first: int) -> None:
    gc.set_threshold(first)
    assert collecting_rarely(lambda: making_what_stays(gc.get_threshold))[0] == first


def test_a_collector_that_is_off_goes_through_nothing_for_what_stays() -> None:
    gc.disable()
    try:
        assert collecting_rarely(lambda: making_what_stays(gc.get_threshold))[0] == RARELY
    finally:
        gc.enable()
