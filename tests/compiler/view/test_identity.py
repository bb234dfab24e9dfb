"""An object that a compile was handed counts with all that it holds; what may hide something is equal to nothing."""

from __future__ import annotations

import array
import collections
import ctypes
import enum
import io
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.source.identity import Identity


class Holder:
    """Anything with an attribute."""

    def __init__(self, held: Any) -> None:
        self.held = held


class Slotted:
    """Keeps its state in slots, one with a private name."""

    __slots__ = ("__hidden", "shown")

    def __init__(self, held: Any) -> None:
        self.shown = self.__hidden = held

    def change(self) -> None:
        self.__hidden = 5


class Named(dict[str, int]):
    """A container with attributes."""

    tile: int


class Counted(int):
    """A number with attributes."""


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.Enum):
    RED = 1


def counter() -> Callable[[], int]:
    count = 3

    def read() -> int:
        return count

    def write() -> None:
        nonlocal count
        count = 5

    read.write = write  # type: ignore[attr-defined]
    return read


def with_default(tile: int = 3) -> int:
    return tile


def nested(depth: int) -> Holder:
    return Holder(nested(depth - 1) if depth else 3)


def deepest(found: Holder) -> Holder:
    return deepest(found.held) if isinstance(found.held, Holder) else found


def set_named(found: Named) -> None:
    found.tile = 5


OPTIONS = types.ModuleType("options")
OPTIONS.TILE = 4  # type: ignore[attr-defined]


class Tiled:
    TILE = 4


def set_tile(found: Any) -> None:
    found.TILE = found.TILE + 1


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an attribute of its class": (lambda: Tiled(), lambda _: set_tile(Tiled)),
    "an attribute of a class it holds": (lambda: Holder(Tiled), lambda _: set_tile(Tiled)),
    "an attribute of a base of its class": (lambda: type("Derived", (Tiled,), {})(), lambda _: set_tile(Tiled)),
    "a name in a module": (lambda: Holder(OPTIONS), lambda _: set_tile(OPTIONS)),
    "the sign of zero": (lambda: Holder(0.0), lambda found: setattr(found, "held", -0.0)),
    "an attribute": (lambda: Holder(3), lambda found: setattr(found, "held", 5)),
    "a list": (lambda: Holder([3]), lambda found: found.held.append(5)),
    "a private slot": (lambda: Slotted(3), lambda found: found.change()),
    "an attribute of a dict": (lambda: Holder(Named()), lambda found: set_named(found.held)),
    "a closure's variable": (lambda: Holder(counter()), lambda found: found.held.write()),
    "a default": (lambda: Holder(with_default), lambda found: setattr(with_default, "__defaults__", (5,))),
    "an attribute of a function": (lambda: Holder(counter()), lambda found: setattr(found.held, "tile", 5)),
    "the object of a method": (lambda: Holder(Slotted(3).change), lambda found: found.held()),
    "the list of its method": (lambda: Holder([3].append), lambda found: found.held(5)),
    "far inside": (lambda: nested(4), lambda found: setattr(deepest(found), "held", 5)),
}
HIDDEN: dict[str, Callable[[], Any]] = {
    "bytearray": lambda: bytearray([3]),
    "array": lambda: array.array("i", [3]),
    "ctypes": lambda: ctypes.c_int(3),
    "deque": lambda: collections.deque([3]),
    "file": lambda: io.BytesIO(b"3"),
    "counter": lambda: iter([3]),
    "generator": lambda: (number for number in [3]),
    "NumPy array": lambda: np.zeros(1),
    "subclass of what C defines": lambda: type("Mine", (collections.deque,), {})([3]),
    "too deep": lambda: nested(40),
}
SHOWN: dict[str, Callable[[], Any]] = {
    "number": lambda: 3,
    "NumPy scalar": lambda: np.float32(3),
    "dtype": lambda: np.dtype("f4"),
    "member of an enum": lambda: Colour.RED,
    "member of a number's enum": lambda: Level.LOW,
    "number with attributes": lambda: Counted(7),
    "class": lambda: Colour,
    "module": lambda: np,
    "function": lambda: with_default,
    "builtin": lambda: len,
    "lock": threading.Lock,
    "slots": lambda: Slotted(3),
    "container with attributes": lambda: Named(x=1),
    "named tuple": lambda: collections.namedtuple("Pair", "a b")(1, 2),  # type: ignore[arg-type, call-arg]
    "itself": lambda: _loop(),
}


def _loop() -> Holder:
    found = Holder(None)
    found.held = [found]
    return found


@pytest.mark.parametrize("what", CHANGES)
def test_an_object_is_another_once_what_it_holds_has_changed(what: str) -> None:
    make, change = CHANGES[what]
    found = make()
    before = Identity.of(found)
    assert before is None or before == Identity.of(found)
    change(found)
    assert before is None or before != Identity.of(found)
    with_default.__defaults__ = (3,)


@pytest.mark.parametrize("what", HIDDEN)
def test_what_does_not_show_all_that_it_holds_has_no_identity(what: str) -> None:
    assert Identity.of(HIDDEN[what]()) is None
    assert Identity.of(Holder(HIDDEN[what]())) is None


@pytest.mark.parametrize("what", SHOWN)
def test_what_shows_all_that_it_holds_is_the_same_again(what: str) -> None:
    found = Holder(SHOWN[what]())
    assert Identity.of(found) is not None
    assert Identity.of(found) == Identity.of(found)
    assert Identity.of(found) != Identity.of(Holder(found.held))
