"""Barriers: finds where a kernel's threads wait for each other, and splits its blocks there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.host.library.intrinsics import BARRIER
from gridjit.compiler.targets.host.regions.body import Block, Body, opcode, with_predecessors

_CALL = re.compile(rf'^(?:tail )?call void @"?{re.escape(BARRIER)}"?\(')
_ARRIVE = "gridjit.arrive "
_ARRIVAL = re.compile(rf"{re.escape(_ARRIVE)}(\d+), label (%\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBlocks:
    """The blocks by label, cut after every barrier, and the label that each region starts at."""

    blocks: Mapping[str, Block]
    starts: tuple[str, ...]


def count_barriers(body: Body) -> int:
    """Return how many barriers body has."""
    return sum(_CALL.match(line) is not None for block in body.blocks for line in block.lines)


def arrival(line: str) -> int | None:
    """Return the number of the barrier at which an instruction of a split block ends its region, or None."""
    found = _ARRIVAL.match(line)
    return int(found[1]) if found else None


def split(body: Body) -> SplitBlocks:
    """Return body's blocks: at every barrier a block ends with an arrival, and the rest is a block of its own."""
    blocks: dict[str, Block] = {}
    starts = [body.blocks[0].label]
    last: dict[str, str] = {}
    for block in body.blocks:
        pieces = _pieces(block, len(starts))
        blocks |= {piece.label: piece for piece in pieces}
        starts += [piece.label for piece in pieces[1:]]
        last[block.label] = pieces[-1].label
    return SplitBlocks(blocks={label: _follow(block, last) for label, block in blocks.items()}, starts=tuple(starts))


def _pieces(block: Block, number: int) -> list[Block]:
    """Return block cut after its barriers, which count from number."""
    pieces = list[Block]()
    label, lines = block.label, list[str]()
    for line in block.lines:
        if _CALL.match(line):
            after = f"%gj.after.{number + len(pieces)}"
            lines.append(f"{_ARRIVE}{number + len(pieces)}, label {after}")
            pieces.append(Block(label=label, lines=tuple(lines)))
            label, lines = after, []
        else:
            lines.append(line)
    return [*pieces, Block(label=label, lines=tuple(lines))]


def _follow(block: Block, last: Mapping[str, str]) -> Block:
    """Return block with its phis naming the last piece of each block they come from."""
    lines = (with_predecessors(line, last) if opcode(line) == "phi" else line for line in block.lines)
    return Block(label=block.label, lines=tuple(lines))
