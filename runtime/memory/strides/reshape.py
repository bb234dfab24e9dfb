"""reshape: which axes can be joined into one, and the strides of another shape if a view of it exists."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from gridjit.compiler.errors import LayoutError
from gridjit.runtime.memory.strides.whole import Numbers


def completed(wanted: Numbers, volume: int) -> Numbers:
    """Return a shape of so many items, what -1 stands for put in."""
    if wanted.count(-1) > 1 or min(wanted, default=0) < -1:
        raise LayoutError(f"shape {wanted}: item counts are 0 or more, and one may be -1, to be computed")
    known = math.prod(count for count in wanted if count != -1)
    if -1 in wanted and known and volume % known == 0:
        return tuple(volume // known if count == -1 else count for count in wanted)
    if -1 in wanted or known != volume:
        raise LayoutError(f"shape {wanted} does not fit {volume} items")
    return wanted


def restrided(shape: Numbers, steps: Numbers, wanted: Numbers, itemsize: int) -> Numbers | None:
    """Return strides that give the same items, in C order, in a wanted shape; None if there are none.

    Both shapes have the same number of items.
    """
    if 0 in wanted:
        return (0,) * len(wanted)
    old = [(count, step) for count, step in zip(shape, steps, strict=True) if count != 1]
    found: list[int] = []
    for mine, theirs in _of_equal_volume([count for count, _ in old], wanted):
        if any(step != old[axis + 1][0] * old[axis + 1][1] for axis, (_, step) in list(enumerate(old))[mine][:-1]):
            return None
        found += _dense(wanted[theirs], old[mine][-1][1])
    rest = found[-1] if found else itemsize  # of axes of one item, of which any will do
    return (*found, *[rest] * (len(wanted) - len(found)))


def merged(shape: Numbers, steps: Numbers, mask: int) -> tuple[Numbers, Numbers, int]:
    """Return shape and strides with axes joined to the ones before them, and the mask of those that were.

    mask: bit i is set if axis i may be joined to axis i - 1.
    """
    groups: list[tuple[int, int]] = []
    joined = 0
    for axis, (count, step) in enumerate(zip(shape, steps, strict=True)):
        if axis and mask >> axis & 1 and (0 in shape or _continues(groups[-1], count, step)):
            groups[-1] = _joined(groups[-1], count, step)
            joined |= 1 << axis
        else:
            groups.append((count, step))
    return tuple(count for count, _ in groups), tuple(step for _, step in groups), joined


def _of_equal_volume(mine: Sequence[int], theirs: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """Yield the shortest runs of axes of two shapes that have equally many items."""
    i = j = 0
    while i < len(mine):
        first, second = i + 1, j + 1
        while (here := math.prod(mine[i:first])) != (there := math.prod(theirs[j:second])):
            if here < there:
                first += 1
            else:
                second += 1
        yield slice(i, first), slice(j, second)
        i, j = first, second


def _dense(counts: Sequence[int], step: int) -> list[int]:
    """Return the strides of axes that lie without gaps, the last with a given stride."""
    found = []
    for count in reversed(counts):
        found.append(step)
        step *= count
    return found[::-1]


def _continues(group: tuple[int, int], count: int, step: int) -> bool:
    """Return whether an axis goes on where a group of axes takes its step."""
    return count == 1 or group[0] == 1 or group[1] == count * step


def _joined(group: tuple[int, int], count: int, step: int) -> tuple[int, int]:
    """Return a group of axes with one more, the fastest."""
    if not group[0] * count:
        return 0, 0
    return group[0] * count, group[1] if count == 1 else step
