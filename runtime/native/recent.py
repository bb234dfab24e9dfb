"""recent: the tuple of what was configured last, which machine code looks at; replaced as a whole, never written to.

It holds the environment, then pairs of a configured kernel and the index that it was made for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.runtime.native.placement import environment_address

# Pairs that machine code looks at, and how many misses there may be before one of them makes room.
PAIRS = 8
PATIENCE = 32

NONE_YET: tuple[Any, ...] = (environment_address().to_bytes(8, "little"),)


def is_full(recent: tuple[Any, ...]) -> bool:
    """Return whether one pair has to go before another is looked at."""
    return len(recent) > 2 * PAIRS


def added(recent: tuple[Any, ...], configured: object, index: object, misses: int) -> tuple[Any, ...]:
    """Return recent with one more pair, in place of another if it is full; misses: how many there were."""
    place = 1 + misses // PATIENCE % PAIRS * 2 if is_full(recent) else len(recent)
    return (*recent[:place], configured, index, *recent[place + 2 :])


def kept(recent: tuple[Any, ...], keep: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return recent with those pairs only whose configured kernel is one to keep."""
    pairs = zip(recent[1::2], recent[2::2], strict=True)
    return (*NONE_YET, *(one for pair in pairs if keep(pair[0]) for one in pair))
