"""Watched: each change is seen, and what did not change is not compared again."""

from __future__ import annotations

from typing import Any

import pytest

from gridjit.compiler.numba_state.stamps import of_dictionaries
from gridjit.compiler.numba_state.watched import Watched, copies, same_items

stamped = pytest.mark.skipif(of_dictionaries([]) is None, reason="dictionaries have no versions in this Python")


class Noted:
    """Dictionaries that are watched, and which of them were compared since it was asked last."""

    def __init__(self, stamps_of: Any) -> None:
        self._compared: list[Any] = []
        self.watched: Watched[dict[str, int]] = Watched(copies, self._same, stamps_of)

    def _same(self, table: dict[str, int], then: dict[str, int]) -> bool:
        self._compared.append(table)
        return same_items(table, then)

    def compared(self) -> list[Any]:
        found, self._compared = self._compared, []
        return found


@pytest.mark.parametrize("stamps_of", [of_dictionaries, lambda _: None], ids=["with stamps", "without"])
def test_each_change_is_seen_and_is_none_once_it_is_taken_back(stamps_of: Any) -> None:
    one, two = {"a": 1}, {"b": 2}
    watched = Noted(stamps_of).watched
    watched.add([one])
    watched.add([two])
    for table, name in ((one, "a"), (two, "b")):
        assert watched.hold()
        table["more"] = 3
        assert not watched.hold()
        assert not watched.hold()
        del table["more"]
        assert watched.hold()
        table[name] += 1
        assert not watched.hold()
        table[name] -= 1


@stamped
def test_what_did_not_change_is_not_compared() -> None:
    one, two, three = {"a": 1}, {"b": 2}, {"c": 3}
    noted = Noted(of_dictionaries)
    noted.watched.add([one, two])
    assert (noted.watched.hold(), noted.compared()) == (True, [])
    two["more"] = 0
    del two["more"]
    assert (noted.watched.hold(), noted.compared()) == (True, [two])
    noted.watched.add([three])
    assert (noted.watched.hold(), noted.compared()) == (True, [])


@stamped
def test_what_changed_before_others_are_watched_is_still_compared() -> None:
    one = {"a": 1}
    noted = Noted(of_dictionaries)
    noted.watched.add([one])
    one["more"] = 2
    noted.watched.add([{"b": 2}])
    assert not noted.watched.hold()


@pytest.mark.parametrize(
    "then", [{}, {"a": 1}, {"a": 1, "b": 3}, {"a": 1, "c": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2, "c": 3}], ids=str
)
def test_a_dictionary_with_other_items_or_another_order_is_not_the_same(then: dict[str, int]) -> None:
    assert same_items({"a": 1, "b": 2}, {"a": 1, "b": 2})
    assert not same_items({"a": 1, "b": 2}, then)
