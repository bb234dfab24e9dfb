"""spare: memory that checked launches used, kept for the next one: getting it from the system again takes far longer.

At most 128 MB are kept. The memory is zero, except for the links of its list (record.py).
"""

from __future__ import annotations

import ctypes

_MOST = 128 << 20
# The chunks that no launch has, as one list by the address of its first. To take it all is one step.
_kept: list[int] = []


def take() -> int:
    """Return all that is kept, as a list; 0 if there is nothing."""
    try:
        return _kept.pop()
    except IndexError:
        return 0


def keep(used: int, far: int, unused: int) -> int:
    """Keep what a launch leaves, as far as it may be kept; return the list of the rest.

    used: the list of what it wrote to, in the first of which only up to far; unused: the list of what it did not need.
    """
    dirty, clean = _chunks(used), _chunks(unused)
    ends = {used: far}
    kept, rest, total = list[tuple[int, int]](), list[tuple[int, int]](), 0
    for at, size in [*clean, *sorted(dirty, key=lambda one: one[1])]:
        total += size
        (kept if total <= _MOST else rest).append((at, size))
    written = {at for at, _ in dirty}
    for at, size in kept:
        if at in written:
            ctypes.memset(at, 0, ends.get(at, size))
    if kept:
        _kept.append(_listed(kept))
    return _listed(rest)


def _chunks(first: int) -> list[tuple[int, int]]:
    found = []
    while first:
        following, size = (ctypes.c_uint64 * 2).from_address(first)
        found.append((first, size))
        first = following
    return found


def _listed(chunks: list[tuple[int, int]]) -> int:
    following = 0
    for at, size in reversed(chunks):
        (ctypes.c_uint64 * 2).from_address(at)[:] = [following, size]
        following = at
    return following
