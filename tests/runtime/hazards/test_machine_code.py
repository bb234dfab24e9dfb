"""Repeated launches in machine code: Python is asked once anything is not as it was when a launch was noted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import HazardError, cuda
from gridjit.runtime.attention import watchers
from gridjit.runtime.hazards.repeats import Repeats
from gridjit.runtime.native.probes import object_layout

pytestmark = pytest.mark.skipif(
    object_layout() is None or sys.version_info < (3, 11), reason="this interpreter looks at launches from Python"
)


@gridjit.jit
def scale(values: Any, factor: float) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= factor


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch, cache_dir: Any, restart: Callable[[], None]) -> Iterator[None]:
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_CHECK_STREAMS", "1")
    restart()
    yield
    cuda.synchronize()
    monkeypatch.delenv("GRIDJIT_CHECK_STREAMS")
    restart()


@pytest.fixture
def second() -> gridjit.Stream:
    return gridjit.create_stream(nonblocking=True)


def ones() -> Any:
    made = cuda.to_device(np.ones(64))
    cuda.synchronize()
    return made


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


def a_clock_was_looked_at(turns: Turns) -> None:
    turns.event = gridjit.default_stream().record()


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


def the_same_launch_from_another_line(turns: Turns) -> None:
    turns.turn(elsewhere=True)


def the_same_launch_from_another_function(turns: Turns) -> None:
    turns.turn_in_another_function()


def nothing_is_known(turns: Turns) -> None:
    turns.known._known = ()


CHANGES = [
    a_clock_was_looked_at,
    another_stream_used_the_array,
    something_ended,
    the_memory_was_forgotten,
    another_array,
    a_view_of_other_items,
    a_number_of_another_type,
    an_array_of_another_type,
    no_array,
    the_same_launch_from_another_line,
    the_same_launch_from_another_function,
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


def test_the_line_of_the_last_launch_is_named(second: Any) -> None:
    turns = Turns()
    turns.turn(elsewhere=True)
    line = Turns.turn.__code__.co_firstlineno + 2
    with pytest.raises(HazardError, match=rf"while scale \(test_machine_code.py:{line}, "):
        scale[1, 64, second](turns.array, 2.0)


def test_equal_places_in_two_functions_are_two_places(second: Any) -> None:
    source = "def turn(launch, *args):\n    launch(*args)\n"
    spaces: list[dict[str, Any]] = [{}, {}]
    for name, space in zip(("one.py", "other.py"), spaces, strict=True):
        exec(compile(source, name, "exec"), space)
    array, launch = ones(), scale[1, 64]
    for space in (*[spaces[0]] * 4, spaces[1]):
        space["turn"](launch, array, 1.0)
    with pytest.raises(HazardError, match=r"while scale \(other.py:2, "):
        scale[1, 64, second](array, 2.0)


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
