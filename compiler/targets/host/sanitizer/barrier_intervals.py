"""Barrier intervals: the reads of shared memory that no write can race with, as barriers stand between them.

An interval is what comes between one barrier of the block and the next. Threads that wait at a barrier together are in
one interval afterwards. So a read of an array races with no write if none of the intervals that it can be in has a
write of that array. This holds where all threads of a block meet at the same barriers; else nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gridjit.compiler.targets.host.analysis.exit_edges import without_failures
from gridjit.compiler.targets.host.analysis.pointers import UNKNOWN, Root, Roots, SharedRoot
from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks, uniform_values
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.accesses import accesses
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.ir.coordinates import place
from gridjit.compiler.targets.host.ir.warp_operations import read_call

# An instruction, by its block's label and its number there.
Position = tuple[str, int]
_OF_BLOCK = (warp_kinds.BARRIER, warp_kinds.COUNT, warp_kinds.AND, warp_kinds.OR, warp_kinds.GRID)
_BEGIN: Position = ("", 0)


def quiet_reads(body: Body, roots: Roots) -> frozenset[Position]:
    """Return the instructions that read only shared arrays that nobody writes in the same interval."""
    if not _meet_alike(body, roots.offsets):
        return frozenset()
    within = _intervals(body)
    written: dict[Position, set[Root]] = {}
    reads: dict[Position, set[Root]] = {}
    for block in body.blocks:
        for number, line in enumerate(block.lines):
            for access in accesses(line):
                here = (block.label, number)
                if access.kind == "read":
                    reads.setdefault(here, set()).update(roots.of(access.at))
                else:
                    for start in within[here]:
                        written.setdefault(start, set()).update(roots.of(access.at))
                    reads.setdefault(here, set()).add(UNKNOWN)
    return frozenset(
        here for here, of in reads.items() if _is_quiet(of, [written.get(one, ()) for one in within[here]])
    )


def _is_quiet(of: Iterable[Root], written: Sequence[Iterable[Root]]) -> bool:
    there = {root for one in written for root in one}
    return all(isinstance(root, SharedRoot) for root in of) and UNKNOWN not in there and not there & set(of)


def _waits(line: str) -> bool:
    return (call := read_call(line)) is not None and call.collective.kind in _OF_BLOCK


def _intervals(body: Body) -> dict[Position, frozenset[Position]]:
    """Return, for each instruction, the barriers that may be the last before it."""
    entering: dict[str, set[Position]] = {body.blocks[0].label: {_BEGIN}}
    blocks = body.by_label
    waiting = [body.blocks[0].label]
    while waiting:
        block = blocks[waiting.pop()]
        leaving = _leaving(block, entering[block.label])
        for label in block.successors:
            if not leaving <= entering.setdefault(label, set()):
                entering[label] |= leaving
                waiting.append(label)
    return _by_instruction(body, entering)


def _leaving(block: Block, entering: set[Position]) -> set[Position]:
    last = [number for number, line in enumerate(block.lines) if _waits(line)]
    return {(block.label, last[-1])} if last else set(entering)


def _by_instruction(body: Body, entering: Mapping[str, set[Position]]) -> dict[Position, frozenset[Position]]:
    found: dict[Position, frozenset[Position]] = {}
    for block in body.blocks:
        now = frozenset(entering.get(block.label, ()))
        for number, line in enumerate(block.lines):
            found[block.label, number] = now
            now = frozenset([(block.label, number)]) if _waits(line) else now
    return found


def _meet_alike(body: Body, offsets: Mapping[str, int]) -> bool:
    """Return whether all threads of a block that are left wait at the same barriers, in the same order."""
    stays = without_failures(place(body, offsets))
    parted = divergent_blocks(stays, uniform_values(stays))
    return not any(block.label in parted for block in stays.blocks for line in block.lines if _waits(line))
