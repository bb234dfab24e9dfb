"""Convergent exits: whether all threads of a block that run a region together end it at one place.

Then the last thread's state is the state of all: nothing has to be kept for each thread, and nothing compared. In doubt
the answer is no, which costs speed and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gridjit.compiler.targets.host.analysis.barriers import arrival
from gridjit.compiler.targets.host.analysis.postdominators import between
from gridjit.compiler.targets.host.ir.body import Block, opcode, used, without_labels


def settled(blocks: Mapping[str, Block], start: str, uniform: Collection[str], meet: Mapping[str, str | None]) -> bool:
    """Return whether the region that begins at start ends at one place for all threads, and none raises there.

    blocks: the kernel's, cut at its barriers. uniform: the values that all threads share. meet: where the ways from
    each block come together.
    """
    region = _reached(blocks, [start])
    ends = {label: _end(blocks[label].lines[-1]) for label in region}
    if None in ends.values():
        return False
    return all(
        _one_place(blocks, label, meet[label], ends)
        for label in region
        if len(blocks[label].successors) > 1 and not used(without_labels(blocks[label].lines[-1])) <= set(uniform)
    )


def _one_place(blocks: Mapping[str, Block], branch: str, meeting: str | None, ends: Mapping[str, int | None]) -> bool:
    """Return whether threads that part at branch meet before the region ends, or end it at one place anyway."""
    apart = between(blocks, branch, meeting) - {meeting}
    if all(ends.get(label, 0) == _GOES_ON for label in apart):
        return True
    return len({ends[label] for label in _reached(blocks, blocks[branch].successors)} - {_GOES_ON}) == 1


_GOES_ON = -1


def _end(line: str) -> int | None:
    """Return the barrier that a block ends at, 0 if the thread ends there, _GOES_ON, or None if it may raise."""
    if (barrier := arrival(line)) is not None:
        return barrier
    if opcode(line) != "ret":
        return _GOES_ON
    return 0 if line == "ret i32 0" else None


def _reached(blocks: Mapping[str, Block], starts: Iterable[str]) -> list[str]:
    """Return the blocks that a region goes through from some of its blocks on."""
    seen, waiting = dict.fromkeys(starts), list(starts)
    while waiting:
        block = blocks[waiting.pop()]
        for label in block.successors if arrival(block.lines[-1]) is None else ():
            if label not in seen:
                seen[label] = None
                waiting.append(label)
    return list(seen)
