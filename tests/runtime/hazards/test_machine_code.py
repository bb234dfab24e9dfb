"""Repeated launches in machine code: Python is asked once anything is not as it was when a launch was noted."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import HazardError, cuda
from gridjit.runtime.attention import watchers
from gridjit.runtime.hazards import machine_code
from gridjit.runtime.hazards.repeats import Repeats
from gridjit.runtime.native.probes import object_layout
from tests.runtime.hazards.work import add, ones, scale

pytestmark = [
    pytest.mark.usefixtures("checked"),
    pytest.mark.skipif(
        object_layout() is None or sys.version_info < (3, 11), reason="this interpreter looks at launches from Python"
    ),
]


class Turns:
    """The same launch again and again, from one place."""

    def __init__(self) -> None:
        self.array, self.factor = ones(), 1.0
        self.launch = scale[1, 64]
        self.event: Any = None
        for _ in range(4):
            self.turn()

    def turn(self, *, elsewhere: bool = False) -> None:
        if elsewhere:
            self.launch(self.array, self.factor)
        else:
            self.launch(self.array, self.factor)

    def turn_in_another_function(self) -> None:
        self.launch(self.array, self.factor)

    @property
    def known(self) -> Any:
        """What is known of its launches."""
        return self.launch.launcher.repeats

    @property
    def asks(self) -> bool:
        """Whether Python is asked about one more turn."""
        with pytest.MonkeyPatch.context() as patch:
            asked: list[Any] = []
            patch.setattr(Repeats, "again", lambda _, args: asked.append(args))
            self.turn()
            return bool(asked)


def nothing(turns: Turns) -> None:
    pass


def a_blocking_stream_was_given_work(turns: Turns) -> None:
    scale[1, 64, gridjit.create_stream()](ones(), 2.0)


def another_stream_used_the_array(turns: Turns) -> None:
    turns.known.line.conflicts += 1


def something_ended(turns: Turns) -> None:
    watchers[0].ended.append(lambda: None)  # type: ignore[attr-defined]


def the_memory_was_forgotten(turns: Turns) -> None:
    watchers[0].ranges.forget(0, 1 << 63)  # type: ignore[attr-defined]


def another_array(turns: Turns) -> None:
    turns.array = ones()
    turns.turn()
    turns.array = turns.array[:]


def a_view_of_other_items(turns: Turns) -> None:
    turns.array = turns.array[1:]


def a_number_of_another_type(turns: Turns) -> None:
    turns.factor = 1


def an_array_of_another_type(turns: Turns) -> None:
    turns.array = turns.array.view(np.int64)


def no_array(turns: Turns) -> None:
    turns.array = np.ones(64)


def nothing_is_known(turns: Turns) -> None:
    turns.known._known = ()


CHANGES = [
    a_blocking_stream_was_given_work,
    another_stream_used_the_array,
    something_ended,
    the_memory_was_forgotten,
    another_array,
    a_view_of_other_items,
    a_number_of_another_type,
    an_array_of_another_type,
    no_array,
    nothing_is_known,
]


def test_nothing_is_asked_where_nothing_changed() -> None:
    turns = Turns()
    assert [turns.asks for _ in range(3)] == [False] * 3


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_python_is_asked_after_a_change(change: Callable[[Turns], None]) -> None:
    turns = Turns()
    change(turns)
    assert turns.asks


def test_nothing_is_asked_after_an_event_or_a_wait_which_do_not_order_later_turns(second: Any) -> None:
    turns, default, event = Turns(), gridjit.default_stream(), gridjit.create_event()
    for look in (lambda: second.wait(event.record(default)), default.synchronize, cuda.synchronize, default.query):
        look()
        assert not turns.asks
        with pytest.raises(HazardError, match=r"while scale \(test_machine_code.py"):
            scale[1, 64, second](turns.array, 2.0)


def test_of_launches_that_take_turns_after_events_the_last_is_named(second: Any) -> None:
    turns, launch, values, event = Turns(), add[1, 64], ones(), gridjit.create_event()
    with pytest.MonkeyPatch.context() as patch:
        for turn in range(6):
            if turn == 3:
                patch.delattr(Repeats, "again")
            turns.turn()
            event.record().synchronize()
            launch(turns.array, values)
            event.record()
        turns.turn()
    with pytest.raises(HazardError, match=r"while scale \(test_machine_code.py.* may still write it"):
        scale[1, 64, second](turns.array, 2.0)


def test_a_turn_in_a_chosen_stream_is_not_noted_in_the_default_stream(second: Any) -> None:
    turns, third = Turns(), gridjit.create_stream(nonblocking=True)
    turns.event = gridjit.default_stream().record()
    third.wait(turns.event)
    with third:
        turns.turn()
    second.wait(third)
    scale[1, 64, second](turns.array, 2.0)


def test_a_turn_that_is_recorded_in_a_graph_is_not_noted(first: Any, second: Any) -> None:
    turns = Turns()
    turns.launch = scale[1, 64, first]
    for _ in range(4):
        turns.turn()
    event = first.record()
    with gridjit.graph(first):
        turns.turn()
    second.wait(event)
    scale[1, 64, second](turns.array, 2.0)


def test_several_launches_of_one_kernel_take_turns() -> None:
    turns, arrays = Turns(), [ones() for _ in range(4)]

    def round_of_launches() -> list[bool]:
        found = []
        for turns.array in arrays:
            found.append(turns.asks)
        return found

    for turns.array in 3 * arrays:
        turns.turn()
    assert round_of_launches() == [False] * 4


@pytest.mark.parametrize("given", [(), (1,), (1, 2.0, 3)])
def test_wrong_arguments_are_an_error_as_without_a_check(given: tuple[Any, ...]) -> None:
    turns = Turns()
    with pytest.raises(gridjit.ArgumentError, match="argument"):
        turns.launch(*given)
    with pytest.raises(gridjit.ArgumentError, match="by position, not by keyword"):
        turns.launch(turns.array, factor=2.0)  # type: ignore[arg-type]
    assert not turns.asks


def named(array: Any, stream: Any) -> str:
    """Return the place that an error calls that of a launch which uses an array, if another stream writes it."""
    with pytest.raises(HazardError) as raised:
        scale[1, 64, stream](array, 2.0)
    (found,) = re.findall(r"while \w+ \((\S+:\d+), the default stream", str(raised.value))
    return str(found)


def line_of(function: Any, number: int) -> str:
    """Return what an error calls a line of a function, of which the first is number 0."""
    return f"test_machine_code.py:{function.__code__.co_firstlineno + number}"


def test_of_several_lines_that_make_a_launch_the_last_is_named_and_python_is_asked_once(second: Any) -> None:
    turns = Turns()
    turns.turn(elsewhere=True)
    assert named(turns.array, second) == line_of(Turns.turn, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(Repeats, "again")
        for _ in range(3):
            turns.turn()
        assert named(turns.array, second) == line_of(Turns.turn, 4)
        turns.turn(elsewhere=True)
        assert named(turns.array, second) == line_of(Turns.turn, 2)


def test_a_launch_from_another_function_is_named_by_its_line(second: Any) -> None:
    turns = Turns()
    turns.turn_in_another_function()
    assert named(turns.array, second) == line_of(Turns.turn_in_another_function, 1)


def test_a_launch_that_goes_to_a_chosen_stream_is_not_named_in_the_default_stream(second: Any) -> None:
    into, values, launch, third = ones(), ones(), add[1, 64], gridjit.create_stream()

    def turn(chosen: bool) -> None:
        if chosen:
            launch(into, values)
        else:
            launch(into, values)

    for chosen in (False, False, False, True, True, False, False):
        turn(chosen)
    assert named(values, second) == line_of(turn, 4)
    with third:
        turn(chosen=True)
    assert named(values, second) == line_of(turn, 4)


def test_a_launch_from_many_lines_is_named_by_each(second: Any) -> None:
    array, launch = ones(), scale[1, 64]
    spaces: list[dict[str, Any]] = [{} for _ in range(12)]
    for number, space in enumerate(spaces):
        exec(compile("def turn(launch, *args):\n    launch(*args)\n", f"file{number}.py", "exec"), space)
    for _ in range(3):
        for number, space in enumerate(spaces):
            space["turn"](launch, array, 1.0)
            if number % 3 == 0:
                assert named(array, second) == f"file{number}.py:2"


def no_slots(owner: type, name: str) -> None:
    """An interpreter in which slots are not found."""


@pytest.mark.parametrize(("name", "value"), [("API", ("PyFrame_GetNothing",)), ("slot_offset", no_slots)])
def test_where_machine_code_cannot_look_python_does(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], second: Any
) -> None:
    monkeypatch.setattr(machine_code, name, value)
    restart()
    cuda.synchronize()
    turns = Turns()
    assert turns.known.again((turns.array, turns.factor))
    assert turns.asks
    turns.turn(elsewhere=True)
    assert named(turns.array, second) == line_of(Turns.turn, 2)


def test_a_launch_that_outlives_a_check_is_noted_by_the_next(restart: Callable[[], None]) -> None:
    turns = Turns()
    restart()
    cuda.synchronize()
    turns.turn()
    with pytest.raises(HazardError, match="may still write"):
        scale[1, 64, gridjit.create_stream(nonblocking=True)](turns.array, 2.0)


def test_the_callbacks_of_a_launch_are_called() -> None:
    turns, called = Turns(), []
    turns.launch.pre_launch_callbacks.append(lambda *_: called.append(1))
    turns.turn()
    turns.turn()
    assert called == [1, 1]
