"""The text of what numba's names stand for is another as soon as two values are in each other's place."""

from __future__ import annotations

import pytest

from gridjit.compiler.frontend.kept.stored.around import numbas_text
from gridjit.compiler.frontend.kept.within import Within
from gridjit.compiler.process.survey import Survey


def _text(*values: object) -> str | None:
    within = Within(Survey())
    within.add(values)
    return numbas_text((), within)


@pytest.mark.parametrize("values", [(1, 2), (1, "one"), (1, int), ("one", None), ((1, "one"), (1, 1)), (int, len)])
def test_values_in_each_others_place_are_told_apart(values: tuple[object, object]) -> None:
    one, other = values
    assert _text(one, other) == _text(one, other) is not None
    assert _text(one, other) != _text(other, one)
