"""Barriers: finds where a kernel's threads wait, for their block, their grid or others' turns, and splits it.

Cuts are numbered from 1: the barriers of the block first, then those of the grid, then the turns of loops that wait.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.library.intrinsics import BARRIER, GRID_BARRIER
from gridjit.compiler.targets.host.regions.body import Block, Body, opcode, with_predecessors

# What the end of a turn calls, once it is known that a loop waits for other threads.
TURN = "gridjit.turn"
_KINDS = (BARRIER, GRID_BARRIER, TURN)
_CALL = re.compile(rf'^(?:tail )?call void @"?({"|".join(map(re.escape, _KINDS))})"?\(')
_ARRIVE = "gridjit.arrive "
_ARRIVAL = re.compile(rf"{re.escape(_ARRIVE)}(\d+), label (%\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBlocks:
    """The blocks by label, cut after every barrier, and the label that each region starts at.

    grid, turns: the number of the first cut that is a barrier of the grid, and of the first that is the end of a turn.
    """

    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    grid: int
    turns: int


def count_barriers(body: Body) -> int:
    """Return how many cuts body has."""
    return sum(is_cut(line) for block in body.blocks for line in block.lines)


def is_cut(line: str) -> bool:
    """Return whether an instruction is one that threads wait at."""
    return _kind(line) is not None


def _kind(line: str) -> str | None:
    found = _CALL.match(line)
    return found[1] if found else None


def arrival(line: str) -> int | None:
    """Return the number of the barrier at which an instruction of a split block ends its region, or None."""
    found = _ARRIVAL.match(line)
    return int(found[1]) if found else None


def split(body: Body) -> SplitBlocks:
    """Return body's blocks: at every barrier a block ends with an arrival, and the rest is a block of its own."""
    kinds = [kind for block in body.blocks for line in block.lines if (kind := _kind(line)) is not None]
    numbers = _numbers(kinds)
    blocks: dict[str, Block] = {}
    starts = {0: body.blocks[0].label}
    last: dict[str, str] = {}
    for block in body.blocks:
        own, numbers = numbers[: (count := _count(block))], numbers[count:]
        pieces = _pieces(block, own)
        blocks |= {piece.label: piece for piece in pieces}
        starts |= {number: piece.label for number, piece in zip(own, pieces[1:], strict=True)}
        last[block.label] = pieces[-1].label
    return SplitBlocks(
        blocks={label: _follow(block, last) for label, block in blocks.items()},
        starts=tuple(starts[number] for number in sorted(starts)),
        grid=1 + kinds.count(BARRIER),
        turns=1 + len(kinds) - kinds.count(TURN),
    )


def _numbers(kinds: Sequence[str]) -> list[int]:
    """Return the number of each cut."""
    order = sorted(range(len(kinds)), key=lambda place: _KINDS.index(kinds[place]))
    return [number for _, number in sorted(zip(order, range(1, len(kinds) + 1), strict=True))]


def _count(block: Block) -> int:
    return sum(is_cut(line) for line in block.lines)


def _pieces(block: Block, numbers: Sequence[int]) -> list[Block]:
    """Return block cut after its barriers, which have these numbers."""
    pieces = list[Block]()
    label, lines = block.label, list[str]()
    for line in block.lines:
        if is_cut(line):
            number = numbers[len(pieces)]
            after = f"%gj.after.{number}"
            lines.append(f"{_ARRIVE}{number}, label {after}")
            pieces.append(Block(label=label, lines=tuple(lines)))
            label, lines = after, []
        else:
            lines.append(line)
    return [*pieces, Block(label=label, lines=tuple(lines))]


def _follow(block: Block, last: Mapping[str, str]) -> Block:
    """Return block with its phis naming the last piece of each block they come from."""
    lines = (with_predecessors(line, last) if opcode(line) == "phi" else line for line in block.lines)
    return Block(label=block.label, lines=tuple(lines))
