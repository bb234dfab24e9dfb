"""Barriers: finds where a kernel's threads wait for each other, and splits its blocks there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.collectives.calls import Collective, extracted, given, got, read_call
from gridjit.compiler.targets.host.regions.body import Block, Body, opcode, with_predecessors

_ARRIVE = "gridjit.arrive "
_ARRIVAL = re.compile(rf"{re.escape(_ARRIVE)}(\d+), label (%\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBlocks:
    """The blocks by label, cut after every barrier, and the label that each region starts at.

    collectives: what the threads that wait for a region's start do together; None for the first region.
    """

    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    collectives: tuple[Collective | None, ...]


def count_barriers(body: Body) -> int:
    """Return how many barriers body has."""
    return sum(read_call(line) is not None for block in body.blocks for line in block.lines)


def arrival(line: str) -> int | None:
    """Return the number of the barrier at which an instruction of a split block ends its region, or None."""
    found = _ARRIVAL.match(line)
    return int(found[1]) if found else None


def split(body: Body) -> SplitBlocks:
    """Return body's blocks: at every barrier a block ends with an arrival, and the rest is a block of its own."""
    blocks: dict[str, Block] = {}
    starts = [body.blocks[0].label]
    collectives: list[Collective | None] = [None]
    last: dict[str, str] = {}
    extracts = _extracts(body)
    for block in body.blocks:
        pieces = _pieces(block, len(starts), extracts)
        blocks |= {piece.label: piece for piece in pieces}
        starts += [piece.label for piece in pieces[1:]]
        collectives += [call.collective for line in block.lines if (call := read_call(line))]
        last[block.label] = pieces[-1].label
    return SplitBlocks(
        blocks={label: _follow(block, last) for label, block in blocks.items()},
        starts=tuple(starts),
        collectives=tuple(collectives),
    )


def _extracts(body: Body) -> Mapping[str, Sequence[str]]:
    """Return the instructions that take apart what each barrier returns. They move to it: pairs do not cross others."""
    lines = [line for block in body.blocks for line in block.lines]
    found: dict[str, list[str]] = {call.result: [] for line in lines if (call := read_call(line))}
    for line in lines:
        if (part := extracted(line)) and part[0] in found:
            found[part[0]].append(line)
    return found


def _pieces(block: Block, number: int, extracts: Mapping[str, Sequence[str]]) -> list[Block]:
    """Return block cut after its barriers, which count from number."""
    pieces = list[Block]()
    label, lines = block.label, list[str]()
    for line in block.lines:
        if call := read_call(line):
            at = number + len(pieces)
            after = f"%gj.after.{at}"
            lines += [*given(call, at), f"{_ARRIVE}{at}, label {after}"]
            pieces.append(Block(label=label, lines=tuple(lines)))
            label, lines = after, got(call, at, extracts.get(call.result, ()))
        elif not ((part := extracted(line)) and part[0] in extracts):
            lines.append(line)
    return [*pieces, Block(label=label, lines=tuple(lines))]


def _follow(block: Block, last: Mapping[str, str]) -> Block:
    """Return block with its phis naming the last piece of each block they come from."""
    lines = (with_predecessors(line, last) if opcode(line) == "phi" else line for line in block.lines)
    return Block(label=block.label, lines=tuple(lines))
