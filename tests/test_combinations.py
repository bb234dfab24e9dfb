"""`make test` tries few of a test's combinations, and of each test some."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.combinations import Combination, showing_each_value, spread


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_the_combinations_that_are_tried_show_each_value_and_are_as_few_as_can_be(sizes: list[int]) -> None:
    names: list[tuple[str, ...]] = [(f"parameter {number}",) for number in range(len(sizes))]
    every: list[Combination] = [
        dict(zip(names, [(value,) for value in values], strict=True))
        for values in itertools.product(*map(range, sizes))
    ]
    chosen = [every[place] for place in showing_each_value(every)]
    for name, size in zip(names, sizes, strict=True):
        assert {one[name] for one in chosen} == {(value,) for value in range(size)}
    assert len(chosen) == max(sizes)


def test_kernels_are_tried_on_one_target_and_the_other_in_turn() -> None:
    every: list[Combination] = [
        {("kernel",): (kernel,), ("target",): (target,)} for kernel in range(10) for target in range(2)
    ]
    targets = [every[place][("target",)] for place in showing_each_value(every)]
    assert targets.count((0,)) == targets.count((1,)) == 5


@pytest.mark.parametrize(
    ("number", "among", "places"), [(1, 9, {0}), (3, 9, {0, 4, 8}), (4, 2, {0, 1}), (2, 1, {0}), (2, 30, {0, 29})]
)
def test_some_cases_are_spread_over_all(number: int, among: int, places: set[int]) -> None:
    assert spread(number, among) == places
