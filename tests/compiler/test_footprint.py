"""Footprint: an artifact is right for a launch exactly if every fact that its compile read is the launch's own."""

from __future__ import annotations

import pytest

from gridjit import LaunchConfig
from gridjit.compiler.values.footprint import PRESENCE, Fact, Footprint

CONFIG = LaunchConfig.of((10, 2), (64, 4), 128)
FACTS = {
    "griddim": (10, 2, 1),
    "griddim.x": 10,
    "griddim.y": 2,
    "griddim.z": 1,
    "blockdim": (64, 4, 1),
    "blockdim.x": 64,
    "blockdim.y": 4,
    "blockdim.z": 1,
    "sharedmem": 128,
    "cluster": None,
    "cooperative": False,
}


@pytest.mark.parametrize(("field", "value"), FACTS.items())
def test_a_fact_holds_for_its_own_value_and_no_other(field: str, value: object) -> None:
    other = LaunchConfig.of((11, 3, 2), (32, 2, 2), 64, cluster=2, cooperative=True)
    fact = Fact(field=field, value=value)  # type: ignore[arg-type]
    assert fact.holds(CONFIG)
    assert not fact.holds(other)


def test_what_was_not_read_cannot_cause_a_mismatch() -> None:
    footprint = Footprint.of([Fact(field="blockdim.x", value=64)])
    assert footprint.matches(LaunchConfig.of(999, (64, 2), 4096))
    assert not footprint.matches(LaunchConfig.of(999, (65, 2), 4096))


def test_a_whole_dimension_makes_its_parts_superfluous() -> None:
    facts = [Fact(field="blockdim.x", value=64), Fact(field="blockdim", value=(64, 4, 1))]
    assert Footprint.of(facts) == Footprint.of(facts[1:])


def test_order_and_place_of_reading_do_not_matter() -> None:
    one = [Fact(field="blockdim.x", value=64, place="a.py:1"), Fact(field="sharedmem", value=0)]
    two = [Fact(field="sharedmem", value=0, place="b.py:9"), Fact(field="blockdim.x", value=64)]
    assert Footprint.of(one) == Footprint.of(two)


def test_asking_only_whether_there_is_a_launch_is_not_sensitivity_but_still_a_fact() -> None:
    inside = Footprint.of([Fact(field=PRESENCE, value=True)])
    assert not inside.sensitive
    assert inside.matches(CONFIG)
    assert not inside.matches(None)


def test_a_field_of_a_later_version_never_matches() -> None:
    assert not Footprint.of([Fact(field="blockdim.w", value=1)]).matches(CONFIG)


def test_an_argument_fact_compares_the_launchs_own_argument() -> None:
    footprint = Footprint.of([Fact(field="argument 1", value="int 7")])
    assert footprint.matches(CONFIG, ("x", 7))
    assert not footprint.matches(CONFIG, ("x", 8))
    assert not footprint.matches(CONFIG, ("x",))


def test_the_first_difference_names_the_fact() -> None:
    footprint = Footprint.of(
        [Fact(field="blockdim.x", value=64, place="stats.py:14"), Fact(field="sharedmem", value=0)]
    )
    difference = footprint.first_difference(LaunchConfig.of(1, 32))
    assert str(difference) == "blockdim.x 64, read at stats.py:14"
