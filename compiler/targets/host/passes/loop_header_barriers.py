"""Barriers at loop headers: the barriers before a loop and at the end of its iterations become one, at the loop's head.

A region runs from a barrier to the next on every path, so the region before such a loop and the one at the end of its
turns would both hold what a turn begins with. Threads that wait at the head go on in one region. Only operations on
numbers stand between the barriers and the head, to which one way leads, so the same threads come as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.loops import Loop, loops
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Block, Body, arms, defined, lines_of, opcode, used
from gridjit.compiler.targets.host.ir.opcodes import EARLY, is_operation
from gridjit.compiler.targets.host.ir.warp_operations import read_call

# Lines from a loop's head to where threads wait, from which on they are worth one round more of a block's threads,
# where these come to the loop without a barrier.
_WORTH = 40

# What a barrier may be moved behind: it neither touches memory nor depends on who else comes by.
_COMPUTES = EARLY | {"phi", "sdiv", "udiv", "srem", "urem"}

_Blocks = dict[str, Block]


class BarrierPlace(NamedTuple):
    """A line of a block, by its place there."""

    label: str
    place: int


def with_barriers_at_heads(body: Body) -> Body:
    """Return body with the barriers of its loops at their heads, if threads wait at no others than the block's."""
    calls = [call for line in body.lines if (call := read_call(line))]
    if not calls or any(call.kind != warp_kinds.BARRIER for call in calls):
        return body
    blocks = body.by_label
    for loop in loops(blocks):
        if len(loop.latches) == 1:
            blocks = _joined(blocks, loop, loop.latches[0])
    return replace(body, blocks=tuple(blocks.values()))


def _joined(blocks: _Blocks, loop: Loop, latch: str) -> _Blocks:
    """Return blocks with a loop's barriers at its head, if each of its turns ends with one."""
    before = [label for label, block in blocks.items() if label != latch and loop.head in block.successors]
    places = {label: place for label in (*before, latch) if (place := _barrier_at_end(blocks[label])) is not None}
    if latch not in places or len(before) != 1 or not (before[0] in places or _is_worth(blocks, loop.head)):
        return blocks
    barrier, head = blocks[latch].lines[places[latch]], blocks[loop.head]
    phis = len(head.phis)
    parted = {label: without(blocks[label], place) for label, place in places.items()}
    joined = replace(head, lines=(*head.lines[:phis], barrier, *head.lines[phis:]))
    return _counted_last({**blocks, **parted, loop.head: joined}, loop.head, latch)


def _barrier_at_end(block: Block) -> int | None:
    """Return the place of the barrier after which a block only computes, and goes on at one place, if it has one."""
    place = _last_effect(block) if len(block.successors) == 1 else None
    return place if place is not None and read_call(block.lines[place]) else None


def barrier_before(blocks: Mapping[str, Block], label: str) -> BarrierPlace | None:
    """Return the block's barrier from which all threads come straight to a block's end; None without such a one."""
    spots, passed, waiting = set[BarrierPlace](), {label}, [label]
    while waiting:
        here = waiting.pop()
        before = [block.label for block in blocks.values() if here in block.successors]
        if (place := _last_effect(blocks[here])) is not None:
            spots.add(BarrierPlace(here, place))
        elif not before:
            return None
        else:
            waiting += (one for one in before if one not in passed)
            passed.update(before)
    if len(spots) != 1 or not all(passed.issuperset(blocks[one].successors) for one in passed - {label}):
        return None
    (spot,) = spots
    call = read_call(blocks[spot.label].lines[spot.place])
    return spot if call and call.kind == warp_kinds.BARRIER else None


def _last_effect(block: Block) -> int | None:
    """Return the place of the last of a block's lines, before the one that ends it, that does more than compute."""
    places = range(len(block.lines) - 2, -1, -1)
    return next((at for at in places if not _only_computes(block.lines[at])), None)


def _only_computes(line: str) -> bool:
    return opcode(line) in _COMPUTES or is_operation(line)


def _is_worth(blocks: Mapping[str, Block], head: str) -> bool:
    """Return whether all threads come from the kernel's beginning straight to a head, after which much is done."""
    return _all_come(blocks, head) and _length(blocks, head) >= _WORTH


def _all_come(blocks: Mapping[str, Block], head: str) -> bool:
    """Return whether all threads come from the kernel's beginning straight to a block, without a barrier."""
    block = next(iter(blocks.values()))
    while block.label != head and len(block.successors) == 1 and not _waits(block.lines):
        block = blocks[block.successors[0]]
    return block.label == head


def _length(blocks: Mapping[str, Block], head: str) -> int:
    """Return the number of instructions that threads come to from a block's beginning on before they wait."""
    found = reached([head], lambda label: () if _waits(blocks[label].lines) else blocks[label].successors)
    return sum(len(blocks[label].lines) for label in found)


def without(block: Block, place: int) -> Block:
    """Return a block without the line at a place."""
    return replace(block, lines=(*block.lines[:place], *block.lines[place + 1 :]))


def _waits(lines: Iterable[str]) -> bool:
    return any(read_call(line) for line in lines)


def _counted_last(blocks: _Blocks, head: str, latch: str) -> _Blocks:
    """Return blocks with what counts a loop's turns at the end of each, so that the counters alone cross its barriers.

    Else both an induction variable and its next value would: each barrier would hand on twice as many values.
    """
    for phi in blocks[head].phis:
        after = next(value for value, label in arms(phi) if label == latch)
        blocks = _moved(blocks, after, {defined(phi)}, latch)
    return blocks


def _moved(blocks: _Blocks, name: str, operands: set[str | None], latch: str) -> _Blocks:
    """Return blocks with a value made at the end of latch, if it is made of these operands and read once."""
    made = [(label, line) for label, block in blocks.items() for line in block.lines if defined(line) == name]
    read = [line for line in lines_of(blocks.values()) if name in used(line)]
    if len(made) != 1 or len(read) != 1:
        return blocks
    ((label, line),) = made
    if label == latch or opcode(line) not in EARLY or not used(line) <= operands:
        return blocks
    blocks = {**blocks, label: without(blocks[label], blocks[label].lines.index(line))}
    *lines, last = blocks[latch].lines
    return {**blocks, latch: replace(blocks[latch], lines=(*lines, line, last))}
