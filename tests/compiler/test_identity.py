"""Identity: an object is the same while nothing that it holds has changed; what cannot be seen is never the same."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import enum
import io
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.identity import Identity


class Thing:
    level = 4

    def __init__(self, held: Any = None) -> None:
        self.held = held


class Base:
    TILE = 4


class Slotted:
    __slots__ = ("held",)


class Color(enum.Enum):
    RED = 1


def closure(value: list[int]) -> Callable[[], list[int]]:
    return lambda: value


def with_default(value: Any = 4) -> Any:
    return value


def test_an_object_is_the_same_as_long_as_what_it_holds_is() -> None:
    slotted = Slotted()
    slotted.held = 1
    held = [
        1,
        2.5,
        {"a": (1,)},
        {1, 2},
        types.SimpleNamespace(x=1),
        Color.RED,
        closure([1]),
        len,
        np,
        np.float32,
        np.dtype("f4"),
    ]
    for value in (Thing(), Thing(held), Thing(slotted), Thing(Thing(Thing(1)))):
        found = Identity.of(value)
        assert found is not None
        assert found == Identity.of(value)
        assert found != Identity.of(Thing(value.held))


CHANGES: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "list": ([4], lambda held: held.append(8)),
    "set": ({4}, lambda held: held.add(8)),
    "namespace": (types.SimpleNamespace(x=4), lambda held: setattr(held, "x", 8)),
    "closure": (closure([4]), lambda held: held().append(8)),
    "default": (with_default, lambda held: setattr(held, "__defaults__", (8,))),
    "function's attribute": (closure([4]), lambda held: setattr(held, "tile", 8)),
    "module": (types.ModuleType("m"), lambda held: setattr(held, "TILE", 8)),
    "class": (type("C", (), {"TILE": 4}), lambda held: setattr(held, "TILE", 8)),
    "object of a derived class": (
        type("D", (Base,), {})(),
        lambda held: setattr(Base, "TILE", 8),
    ),
    "object of a class": (type("C", (), {"TILE": 4})(), lambda held: setattr(type(held), "TILE", 8)),
}


@pytest.mark.parametrize(("held", "change"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_what_it_holds_makes_it_another(held: Any, change: Callable[[Any], object]) -> None:
    thing = Thing(held)
    before = Identity.of(thing)
    assert before is not None and before == Identity.of(thing)
    change(held)
    assert before != Identity.of(thing)


def test_zeros_of_both_signs_are_two() -> None:
    thing = Thing(0.0)
    before = Identity.of(thing)
    thing.held = -0.0
    assert before != Identity.of(thing)


@pytest.mark.parametrize(
    "held",
    [
        collections.deque([4]), bytearray(4), array.array("i", [4]), memoryview(bytearray(4)), ctypes.c_int(4),
        io.BytesIO(b"4"), types.MappingProxyType({}), contextvars.ContextVar("v"), np.zeros(1), iter([4]), [4].append,
    ],
    ids=lambda held: type(held).__name__,
)  # fmt: skip
def test_what_only_code_in_c_can_see_is_never_the_same(held: Any) -> None:
    assert Identity.of(Thing(held)) is None
