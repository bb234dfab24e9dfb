"""gridjit.base.values.dataclass: what the standard library's frozen, slotted, keyword-only dataclass does, it does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from typing import Any, ClassVar, cast

import pytest

from gridjit import LaunchConfig
from gridjit.base import values


def _point(decorator: Any, **options: Any) -> Any:
    @decorator(frozen=True, slots=True, kw_only=True, **options)
    class Point:
        """A value with a default, a fresh default, and a field that does not count."""

        x: int
        y: int = 2
        tags: list[str] = values.field(default_factory=list)
        note: str = values.field(default="", compare=False, repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError(f"x={self.x}")

    return Point


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value that pickle finds by its name."""

    name: str
    size: int = 0


@pytest.fixture(params=[values.dataclass, dataclasses.dataclass], ids=["gridjit", "standard library"])
def point(request: pytest.FixtureRequest) -> Any:
    """The class made by either decorator: each test holds for both."""
    return _point(request.param)


def test_fields_are_set_by_keyword_or_default(point: Any) -> None:
    made = point(x=1)
    assert (made.x, made.y, made.tags, made.note) == (1, 2, [], "")
    assert point(x=1, y=3, tags=["a"], note="b").tags == ["a"]


def test_each_value_gets_a_fresh_default(point: Any) -> None:
    assert point(x=1).tags is not point(x=1).tags


@pytest.mark.parametrize(("given", "named"), [({}, "x"), ({"x": 1, "z": 2}, "z")])
def test_a_missing_or_unknown_argument_is_named(point: Any, given: dict[str, int], named: str) -> None:
    with pytest.raises(TypeError, match=rf"Point.*'{named}'"):
        point(**given)


def test_positions_are_refused(point: Any) -> None:
    with pytest.raises(TypeError):
        point(1)


def test_values_given_by_position_are_told_the_names_to_use() -> None:
    with pytest.raises(
        TypeError, match=r"^LaunchConfig\(\): arguments are named, griddim, .*; LaunchConfig\.of\(\.\.\.\) takes"
    ):
        LaunchConfig(1, 2)  # type: ignore[call-arg, arg-type]


def test_a_value_checks_itself_when_made(point: Any) -> None:
    with pytest.raises(ValueError, match="x=-1"):
        point(x=-1)


def test_values_are_frozen(point: Any) -> None:
    made = point(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        made.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="x"):
        del made.x
    with pytest.raises((AttributeError, TypeError)):  # TypeError in Python's own, a defect of its slots
        made.other = 1
    assert not hasattr(made, "__dict__")


def test_values_compare_by_the_fields_that_count(point: Any) -> None:
    assert point(x=1, note="a") == point(x=1, note="b") != point(x=2)
    assert point(x=1) != (1, 2, [], "")


def test_equal_values_hash_alike() -> None:
    assert hash(Named(name="a")) == hash(Named(name="a", size=0))
    assert len({Named(name="a"), Named(name="a"), Named(name="b")}) == 2


def test_without_eq_values_compare_by_identity() -> None:
    plain = _point(values.dataclass, eq=False)
    one = plain(x=1)
    assert one == one != plain(x=1)
    assert hash(one) == object.__hash__(one)


def test_the_text_names_the_fields(point: Any) -> None:
    assert repr(point(x=1, note="hidden")) == f"{point.__qualname__}(x=1, y=2, tags=[])"


def test_the_standard_library_knows_the_fields(point: Any) -> None:
    made = point(x=1, tags=["a"])
    assert [f.name for f in dataclasses.fields(point)] == ["x", "y", "tags", "note"]
    assert dataclasses.replace(made, y=5) == point(x=1, y=5, tags=["a"])
    assert dataclasses.asdict(made) == {"x": 1, "y": 2, "tags": ["a"], "note": ""}


@pytest.mark.parametrize("decorator", [values.dataclass, dataclasses.dataclass])
def test_a_default_that_all_values_would_share_is_refused(decorator: Any) -> None:
    with pytest.raises(ValueError, match=r"mutable default .* default_factory"):

        @decorator(frozen=True, slots=True, kw_only=True)
        class Shared:
            """A value whose default is a list."""

            tags: list[str] = []


def test_what_is_more_than_fields_is_refused_rather_than_taken_for_them() -> None:
    with pytest.raises(TypeError, match=r"Longer has \['name'\] again; use dataclasses"):

        @values.dataclass(frozen=True, slots=True, kw_only=True)
        class Longer(Named):
            """A value with one of another's fields in a place of its own."""

            name: str = ""

    with pytest.raises(TypeError, match=r"Made has more than fields; use dataclasses"):

        @values.dataclass(frozen=True, slots=True, kw_only=True)
        class Made:
            """A value that is made of something it does not keep."""

            made: dataclasses.InitVar[int] = 0


def _family(decorator: Any, **options: Any) -> tuple[Any, Any]:
    """Return a class with another's fields and its own, and one that adds nothing to it."""

    @decorator(**options)
    class Base:
        """A value with a variable of its class."""

        name: str
        size: int = 3
        kind: ClassVar[str] = "base"

    @decorator(**options)
    class Longer(Base):
        """A value with another's fields, and its own."""

        note: str = ""
        kind = "longer"

    class Same(Longer):
        """The same fields under another class."""

        __slots__ = ()

    return Longer, Same


@pytest.mark.parametrize("decorator", [values.dataclass, dataclasses.dataclass])
def test_a_value_has_the_fields_of_those_it_is_based_on_and_no_variables_of_its_class(decorator: Any) -> None:
    longer, same = _family(decorator, frozen=True, slots=True, kw_only=True)
    made = longer(name="a", note="b")
    assert (made.name, made.size, made.note, made.kind) == ("a", 3, "b", "longer")
    assert [f.name for f in dataclasses.fields(longer)] == ["name", "size", "note"]
    assert not hasattr(made, "__dict__")
    assert made == dataclasses.replace(longer(name="a", size=4, note="b"), size=3) != same(name="a", note="b")
    assert hash(made) == hash(copy.copy(made))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "c"
    with pytest.raises(TypeError):
        longer(note="b")


def test_a_value_is_changed_by_what_other_dataclasses_are_changed_by() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Placed(Named):
        """Python's own dataclass with a value's fields."""

        place: int = 0

    assert dataclasses.asdict(Placed(name="a", place=2)) == {"name": "a", "size": 0, "place": 2}
    assert cast(Any, Named(name="a")).__replace__(size=2) == Named(name="a", size=2)


def test_values_are_copied_and_pickled() -> None:
    made = Named(name="a", size=3)
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made


def test_other_options_are_refused() -> None:
    with pytest.raises(TypeError, match="frozen=True"):
        values.dataclass(frozen=False, slots=True, kw_only=True)


def test_values_with_a_slot_for_weak_references_can_be_referred_to_weakly() -> None:
    @values.dataclass(frozen=True, slots=True, kw_only=True)
    class Watched:
        name: str
        __weakref__: Any = values.field(init=False, repr=False)

    made = Watched(name="a")
    assert weakref.ref(made)() is made
