"""Terms: sums, written as how often each part is in them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

Part = TypeVar("Part", bound=Hashable)


def plus(one: Mapping[Part, int], other: Mapping[Part, int], times: int = 1) -> dict[Part, int]:
    """Return one sum plus `times` the other, without what cancels out."""
    total = {part: one.get(part, 0) + times * other.get(part, 0) for part in {**one, **other}}
    return {part: count for part, count in total.items() if count}
