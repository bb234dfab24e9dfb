"""Which combinations of a test's parameters `make test` tries, and which only `make test-slow` does.

Where a test is marked `each_value_once`, `make test` tries as many of them as it takes to see each value of each
parameter, in ever other company. Where it is marked `some(number)`, for values that are samples of one kind, it tries
that many, spread over all. The others are marked as slow. Every test keeps some in `make test`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

# What a combination has: by the names of the parameters that one list gives values to, which values those are.
Combination = dict[tuple[str, ...], tuple[int, ...]]


def mark_others_slow(items: Iterable[pytest.Item]) -> None:
    """Mark as slow what the marks of the items' tests leave to `make test-slow`."""
    for mark in ("each_value_once", "some"):
        for cases in _by_test(item for item in items if item.get_closest_marker(mark)):
            wanted = _wanted(cases)
            for number, case in enumerate(cases):
                if number not in wanted:
                    case.add_marker("slow")


def _by_test(items: Iterable[pytest.Item]) -> Iterable[list[pytest.Function]]:
    """Return the cases of each test that are neither slow by themselves nor for a GPU."""
    tests: dict[tuple[str, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and not {"gpu", "slow"} & {mark.name for mark in item.iter_markers()}:
            tests.setdefault((str(item.path), item.nodeid.partition("[")[0]), []).append(item)
    return tests.values()


def _wanted(cases: Sequence[pytest.Function]) -> set[int]:
    some = cases[0].get_closest_marker("some")
    return spread(some.args[0], len(cases)) if some else showing_each_value([_combination(case) for case in cases])


def _combination(case: pytest.Function) -> Combination:
    values = case.callspec.params
    given = [mark.args[0] for mark in case.iter_markers("parametrize")]
    lists = [tuple(map(str.strip, names.split(","))) if isinstance(names, str) else tuple(names) for names in given]
    listed = {name for names in lists for name in names}
    lists += [(name,) for name in values if name not in listed]
    return {names: tuple(id(values[name]) for name in names) for names in lists}


def spread(number: int, among: int) -> set[int]:
    """Return the places of a number of things spread evenly among others, with the first and the last."""
    taken = min(number, among)
    return {round(step * (among - 1) / max(taken - 1, 1)) for step in range(taken)}


def showing_each_value(combinations: Sequence[Combination]) -> set[int]:
    """Return the places of few combinations that show each value, and of such those that are shown least."""
    unseen = {value for combination in combinations for value in combination.items()}
    chosen: set[int] = set()
    shown: Counter[tuple[tuple[str, ...], tuple[int, ...]]] = Counter()
    while unseen:
        best = max(
            (place for place in range(len(combinations)) if place not in chosen),
            key=lambda place: (
                len(unseen & combinations[place].items()),
                -sum(shown[value] for value in combinations[place].items()),
            ),
        )
        chosen.add(best)
        unseen -= combinations[best].items()
        shown.update(combinations[best].items())
    return chosen
