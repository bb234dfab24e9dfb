"""Convergence: whether all threads of a block that run a region together end it at one place, and where some may not.

Behind a convergent exit, the last thread's state is the state of all: nothing has to be kept for each thread, and
nothing compared. In doubt the answer is no, which costs speed and nothing else.

All threads of a block come to most places together. Where only some come, they go on without the others, up to the
next barrier that all come to. A region that begins at such a place is *loose*: threads that wait for it may
be in different iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.barriers import SplitBlocks, arrival, goes_on
from gridjit.compiler.targets.host.analysis.postdominators import between
from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Block, Body, opcode, reads

_GOES_ON = -1


def has_convergent_exit(
    blocks: Mapping[str, Block], start: str, uniform: Collection[str], meet: Mapping[str, str | None]
) -> bool:
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
        if len(blocks[label].successors) > 1 and not reads(blocks[label].lines[-1]) <= set(uniform)
    )


def _one_place(blocks: Mapping[str, Block], branch: str, meeting: str | None, ends: Mapping[str, int | None]) -> bool:
    """Return whether threads that part at branch meet before the region ends, or end it at one place anyway."""
    apart = between(blocks, branch, meeting) - {meeting}
    if all(ends.get(label, 0) == _GOES_ON for label in apart):
        return True
    return len({ends[label] for label in _reached(blocks, blocks[branch].successors)} - {_GOES_ON}) == 1


def _end(line: str) -> int | None:
    """Return the barrier that a block ends at, 0 if the thread ends there, _GOES_ON, or None if it may raise."""
    if (barrier := arrival(line)) is not None:
        return barrier
    if opcode(line) != "ret":
        return _GOES_ON
    return 0 if line == "ret i32 0" else None


def _reached(blocks: Mapping[str, Block], starts: Iterable[str]) -> dict[str, None]:
    """Return the blocks that a region goes through from some of its blocks on."""
    return reached(starts, lambda label: goes_on(blocks[label]))


def loose_regions(body: Body, parts: SplitBlocks, same: Collection[str]) -> tuple[bool, ...]:
    """Return, for each region of body, cut into parts, whether it is loose; same: the uniform values."""
    parted = divergent_blocks(replace(body, blocks=tuple(parts.blocks.values())), same)
    ends = {label: number for label, block in parts.blocks.items() if (number := arrival(block.lines[-1])) is not None}
    waiting = [number for label, number in ends.items() if label in parted]
    stops = {number for label, number in ends.items() if label not in parted and _of_block(parts, number)}
    loose = set(waiting)
    while waiting:
        for number in _arrivals(parts.blocks, parts.starts[waiting.pop()], ends):
            if number not in loose and number not in stops:
                loose.add(number)
                waiting.append(number)
    return tuple(number in loose for number in range(len(parts.starts)))


def _of_block(parts: SplitBlocks, number: int) -> bool:
    one = parts.collectives[number]
    return one is not None and warp_kinds.of_block(one.kind)


def _arrivals(blocks: Mapping[str, Block], start: str, ends: Mapping[str, int]) -> list[int]:
    """Return the barriers at which a region that begins at start may end."""
    found = reached([start], lambda label: () if label in ends else blocks[label].successors)
    return [ends[label] for label in found if label in ends]
