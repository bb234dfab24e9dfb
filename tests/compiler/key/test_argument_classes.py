"""What an overload finds by an argument's type counts: classes with all that is in them, and what types hold."""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

numba_cuda()

from numba.cuda import types  # noqa: E402  # the first import has to come first

from gridjit.compiler.frontend.bindings.foreign_types import foreign_item  # noqa: E402
from gridjit.compiler.key.argument_classes import signature_fingerprint  # noqa: E402
from gridjit.compiler.values.signature import ClassName, EnumType, ForeignType, ScalarType, Signature, TupleType  # noqa: E402

INT = ScalarType(dtype="int64")


class Tagged(types.Type):
    """A type that numba knows by its name alone."""

    def __init__(self, tag: Any) -> None:
        self.tag = tag
        super().__init__(name="Tagged")


class Around(types.Type):
    """A type whose key is another type."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        super().__init__(name="Around")

    @property
    def key(self) -> Any:
        return self.inner


def pair(tile: int) -> TupleType:
    class Pair(namedtuple("Pair", "a")):
        TILE = tile

    return TupleType(items=(INT,), named=ClassName.of(Pair), names=("a",))


def colour(tile: int) -> EnumType:
    class Colour(enum.Enum):
        RED = 1

        def tile(self) -> int:
            return tile

    return EnumType(enum=ClassName.of(Colour), dtype=INT, members=(("RED", "1"),), integral=False)


def shade(tile: int) -> EnumType:
    class Shade(enum.Enum):
        DARK = 1

        def __init__(self, number: int) -> None:
            setattr(self, "tile", tile)  # noqa: B010  # as a program that works its names out

    Shade.DARK.__dict__["depth"] = tile
    return EnumType(enum=ClassName.of(Shade), dtype=INT, members=(("DARK", "1"),), integral=False)


def tagged(tag: Any) -> ForeignType:
    return foreign_item(Tagged(tag))


def around(tag: Any) -> ForeignType:
    return foreign_item(Around(Tagged(tag)))


MADE: dict[str, Callable[[int], Any]] = {
    "attribute of a named tuple's class": pair,
    "inside a tuple": lambda tile: TupleType(items=(INT, pair(tile))),
    "method of an enum": colour,
    "state of an enum's member": shade,
    "attribute of a type": tagged,
    "attribute of a type's key": around,
}


def signature(argument: Any) -> Signature:
    return Signature(arguments=(INT, argument))


@pytest.mark.parametrize("what", MADE)
def test_what_a_type_leads_to_counts(what: str) -> None:
    three, again, five = (signature_fingerprint(signature(MADE[what](tile))) for tile in (3, 3, 5))
    assert three.digest == again.digest != five.digest
    assert not three.opaque
    assert str(signature(MADE[what](3))) == str(signature(MADE[what](5)))


@pytest.mark.parametrize("make", [pair, colour])
def test_two_classes_of_one_name_are_two_types(make: Callable[[int], Any]) -> None:
    first = make(3)
    assert signature(first) == signature(first)
    assert signature(first) != signature(make(3))


def test_a_type_that_holds_what_cannot_be_seen_keeps_its_kernels_in_this_process() -> None:
    assert signature_fingerprint(signature(tagged(iter([3])))).opaque


def test_most_signatures_lead_to_nothing() -> None:
    assert not signature_fingerprint(signature(INT)).parts
