"""Loose regions: the places where only some of a block's threads may wait, or some wait more often than others.

All threads of a block come to most places together. Where only some come, they go on without the others, up to the
next barrier that all come to. A region that begins at such a place is *loose*: threads that wait for it may
be in different turns of a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from gridjit.compiler.targets.host.analysis.barriers import SplitBlocks, arrival
from gridjit.compiler.targets.host.analysis.uniformity import parted_blocks
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Block, Body


def loose_regions(body: Body, parts: SplitBlocks, same: Collection[str]) -> tuple[bool, ...]:
    """Return, for each region of body, cut into parts, whether it is loose; same: the uniform values."""
    parted = parted_blocks(replace(body, blocks=tuple(parts.blocks.values())), same)
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


def _arrivals(blocks: Mapping[str, Block], start: str, ends: Mapping[str, int]) -> Iterable[int]:
    """Yield the barriers at which a region that begins at start may end."""
    seen, waiting = {start}, [start]
    while waiting:
        label = waiting.pop()
        if label in ends:
            yield ends[label]
            continue
        for after in blocks[label].successors:
            if after not in seen:
                seen.add(after)
                waiting.append(after)
