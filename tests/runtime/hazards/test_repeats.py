"""Launches that are made again: those that nothing came between cost little, and every hazard is found all the same."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.extending import overload

import gridjit
from gridjit import HazardError, cuda
from gridjit.runtime.hazards.checker import Checker
from gridjit.runtime.hazards.repeats import Repeats
from tests.registered import taken_away_after
from tests.runtime.hazards.work import add, ones, scale

pytestmark = pytest.mark.usefixtures("checked")


def touch(values: Any, i: int) -> Any:
    """Write to integers, and read others."""


@pytest.fixture
def touch_each() -> Iterator[Any]:
    """Return a kernel that touches an array, for as long as numba knows how."""
    with taken_away_after():

        @overload(touch)
        def touched(values: Any, i: Any) -> Any:
            if isinstance(values.dtype, types.Integer):

                def found(values: Any, i: Any) -> Any:
                    values[i] = i
                    return i
            else:

                def found(values: Any, i: Any) -> Any:
                    return values[i]

            return found

        @gridjit.jit
        def touch_each(values: Any, into: Any) -> None:
            i = cuda.grid(1)
            touch(values, i)
            into[i] = 1.0

        yield touch_each


def test_a_loop_of_launches_is_looked_at_once_and_not_with_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z = ones(), ones(), ones()
    looks = []
    give = Checker._give

    def counted(checker: Checker, *given: Any) -> Any:
        looks.append(given)
        return give(checker, *given)

    monkeypatch.setattr(Checker, "_give", counted)
    for turn in range(50):
        add[1, 64](x, y)
        add[1, 64](y, x)
        add[1, 64](z, x)
        scale[1, 64](x, 1.0)
        if turn == 5:
            looks.clear()
        gridjit.default_stream().record()  # an event that is gone at once
        if turn % 10 == 9:
            gridjit.default_stream().synchronize()
    assert looks == []


def by_an_event(one: Any) -> Any:
    return one.record()


def by_another_stream(one: Any) -> Any:
    third = gridjit.create_stream(nonblocking=True)
    third.wait(one)
    return third.record()


def by_the_default_stream(one: Any) -> Any:
    scale[1, 64](ones_of_its_own, 1.0)
    return gridjit.default_stream().record()


def by_the_host(one: Any) -> Any:
    one.synchronize()
    return gridjit.create_event()


def by_the_device(one: Any) -> Any:
    cuda.synchronize()
    return gridjit.create_event()


def by_a_blocking_stream(one: Any) -> Any:
    third = gridjit.create_stream()
    scale[1, 64, third](cuda.device_array(64, stream=third), 1.0)
    return third.record()


ones_of_its_own: Any = None
LOOKS: list[tuple[Callable[[Any], Any], str]] = [
    (look, "blocking") for look in (by_an_event, by_another_stream, by_the_default_stream, by_the_host)
]
LOOKS += [(by_the_device, "blocking"), (by_a_blocking_stream, "default"), (by_an_event, "default")]


@pytest.mark.each_value_once
@pytest.mark.parametrize(("look", "where"), LOOKS, ids=lambda given: getattr(given, "__name__", given))
def test_only_the_turns_before_somebody_looked_are_known_to_be_done(
    look: Callable[[Any], Any], where: str, first: Any, second: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = ones(), ones()
    monkeypatch.setitem(globals(), "ones_of_its_own", ones())
    one = first if where == "blocking" else gridjit.default_stream()
    order = None
    for turn in range(8):
        if turn == 7:
            order = look(one)
        scale[1, 64, one](x, 2.0)
    second.wait(order)
    with pytest.raises(HazardError):
        add[1, 64, second](y, x)
    second.wait(look(one))
    add[1, 64, second](y, x)


def test_a_turn_after_another_streams_work_must_wait_for_it(first: Any, second: Any) -> None:
    x, y = ones(), ones()

    def turn() -> None:
        scale[1, 64, first](x, 2.0)

    for _ in range(5):
        turn()
    second.wait(first)
    add[1, 64, second](y, x)
    with pytest.raises(HazardError, match="may write array 'values' while add"):
        turn()
    first.wait(second)
    turn()
    turn()


def test_the_line_of_the_last_of_several_equal_launches_is_named(first: Any, second: Any) -> None:
    x = ones()
    for _ in range(3):
        scale[1, 64, first](x, 2.0)
        line = sys._getframe().f_lineno + 1
        scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError, match=rf"while scale \(test_repeats.py:{line}, "):
        scale[1, 64, second](x, 2.0)


def named(array: Any, stream: Any) -> str:
    """Return the place that an error calls that of a launch which uses an array, if another stream writes it."""
    with pytest.raises(HazardError) as raised:
        scale[1, 64, stream](array, 2.0)
    (found,) = re.findall(r"while \w+ \((\S+:\d+), the default stream", str(raised.value))
    return str(found)


def test_a_launch_from_many_files_is_named_by_each(second: Any) -> None:
    array, launch = ones(), scale[1, 64]
    spaces: list[dict[str, Any]] = [{} for _ in range(12)]
    for number, space in enumerate(spaces):
        exec(compile("def turn(launch, *args):\n    launch(*args)\n", f"file{number}.py", "exec"), space)
    for _ in range(3):
        for number, space in enumerate(spaces):
            space["turn"](launch, array, 1.0)
            if number % 3 == 0:
                assert named(array, second) == f"file{number}.py:2"


def test_a_turn_in_a_chosen_stream_is_not_noted_in_the_default_stream(second: Any) -> None:
    array, launch, third = ones(), scale[1, 64], gridjit.create_stream(nonblocking=True)
    places = []

    def turn() -> None:
        places.append(f"test_repeats.py:{sys._getframe().f_lineno + 1}")
        launch(array, 1.0)

    for _ in range(4):
        turn()
    event = gridjit.default_stream().record()
    assert named(array, second) == places[-1]
    third.wait(event)
    with third:
        launch(array, 1.0)
    second.wait(third)
    scale[1, 64, second](array, 2.0)


def test_a_turn_that_is_recorded_in_a_graph_is_not_noted(first: Any, second: Any) -> None:
    array, launch = ones(), scale[1, 64, first]

    def turn() -> None:
        launch(array, 1.0)

    for _ in range(4):
        turn()
    event = first.record()
    with gridjit.graph(first):
        turn()
    second.wait(event)
    scale[1, 64, second](array, 2.0)


@pytest.mark.parametrize("given", [(), (1,), (1, 2.0, 3)])
def test_wrong_arguments_are_an_error_as_without_a_check(given: tuple[Any, ...]) -> None:
    array, launch = ones(), scale[1, 64]
    for _ in range(4):
        launch(array, 1.0)
    with pytest.raises(gridjit.ArgumentError, match="argument"):
        launch(*given)
    with pytest.raises(gridjit.ArgumentError, match="by position, not by keyword"):
        launch(array, factor=2.0)  # type: ignore[arg-type]


def test_the_callbacks_of_a_repeated_launch_are_called() -> None:
    array, launch, called = ones(), scale[1, 64], []
    for _ in range(4):
        launch(array, 1.0)
    launch.pre_launch_callbacks.append(lambda *_: called.append(1))
    launch(array, 1.0)
    launch(array, 1.0)
    assert called == [1, 1]


def test_memory_that_another_array_has_now_is_looked_at_anew(first: Any, second: Any) -> None:
    for _ in range(5):
        x = ones()
        for _ in range(3):
            scale[1, 64, first](x, 2.0)
        with pytest.raises(HazardError):
            scale[1, 64, second](x, 2.0)
        first.synchronize()
        del x


def test_a_kernel_that_writes_to_views_of_one_type_only_is_looked_at_with_each(
    first: Any, second: Any, touch_each: Any
) -> None:
    into, x, y = ones(), ones(), ones()
    integers, whole, short = x.view(np.int64), touch_each[1, 64, first], touch_each[1, 32, first]

    def turns(launch: Any, values: Any, count: int = 4) -> None:
        for _ in range(count):
            launch(values, into)
        cuda.synchronize()

    turns(short, integers)
    for launch, values in ((short, x), (whole, integers), (whole, x), (whole, integers)):
        turns(launch, values)
    short(integers, into)
    with pytest.raises(HazardError, match=r"while touch_each .* may still write"):
        add[1, 64, second](y, x)


def test_a_launcher_that_outlives_a_check_is_looked_at_by_the_next(
    restart: Callable[[], None],
) -> None:
    x, launch = ones(), scale[1, 64]
    for _ in range(5):
        launch(x, 2.0)
    known = launch.launcher.repeats
    assert known is not None
    assert known.again((x, 2.0))
    restart()
    assert not known.again((x, 2.0))


# -- the same as without ---------------------------------------------------------------------------------------------


def came_of(step: Callable[[], Any]) -> str:
    """Do a step, and return what came of it."""
    try:
        step()
    except HazardError:
        return "hazard"
    return "fine"


def outcomes(seed: int) -> list[str]:
    """Return what came of some random work, in which much is done again."""
    chance = random.Random(seed)
    streams = [gridjit.default_stream(), *(gridjit.create_stream(nonblocking=made == 2) for made in range(3))]
    arrays = [ones() for _ in range(3)]
    arrays += [arrays[0][:40], arrays[0][30:]]
    events = [gridjit.create_event() for _ in range(2)]
    steps: list[Callable[[], Any]] = []

    def step() -> Callable[[], Any]:
        one, other = chance.choice(streams), chance.choice(streams)
        x, y, event = chance.choice(arrays), chance.choice(arrays), chance.choice(events)
        return chance.choice(
            [
                *[lambda: scale[1, 64, one](x, 1.0)] * 4,
                *[lambda: add[1, 64, one](x, y)] * 4,
                lambda: event.record(one),
                lambda: one.wait(event),
                lambda: one.wait(other),
                lambda: one.wait(other),
                lambda: chance.choice([one.synchronize, event.synchronize])(),
                lambda: x.copy_to_device(y, stream=one) if x.shape == y.shape else None,
            ]
        )

    found: list[str] = []
    for _ in range(250):
        if not steps or chance.random() < 0.25:
            steps.append(step())
        found += [came_of(chance.choice(steps[-4:])) for _ in range(chance.choice([1, 1, 3]))]
    cuda.synchronize()
    return found


def test_the_same_hazards_are_found_as_if_each_launch_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    hits, again = [], Repeats.again
    with monkeypatch.context() as patch:
        patch.setattr(Repeats, "add", lambda *_: None)
        expected = [outcomes(seed) for seed in range(20)]

    def counted(repeats: Repeats, args: tuple[Any, ...]) -> bool:
        hits.append(again(repeats, args))
        return hits[-1]

    monkeypatch.setattr(Repeats, "again", counted)
    assert [outcomes(seed) for seed in range(20)] == expected
    assert hits.count(True) > 200
    assert sum(found.count("hazard") for found in expected) > 200
