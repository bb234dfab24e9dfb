"""Barriers: finds where a kernel's threads wait for each other, and splits its blocks there.

Cuts are numbered from 1: what threads of a block or a warp do together first, then the barriers of the grid, then the
ends of iterations of spin loops.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.body import Block, Body, opcode, with_predecessors
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.warp_operations import PAIR, Collective, extracted, given, got, read_call

# What comes after all that threads of a block do together.
_LATER = {warp_kinds.GRID: 1, warp_kinds.TURN: 2}
# The operations that end regions: each has a number, and the label of the block where threads go on.
_ARRIVE, _PASS = "gridjit.arrive", "gridjit.pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBlocks:
    """The blocks by label, cut after every barrier, and the label that each region starts at.

    collectives: what the threads that wait for a region's start do together; None for the first region.
    first_of_grid, first_turn: the number of the first cut that is a barrier of the grid, and of the first that is the
    end of a turn.
    """

    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    collectives: tuple[Collective | None, ...]
    first_of_grid: int
    first_turn: int


def count_barriers(body: Body) -> int:
    """Return how many barriers body has."""
    return sum(is_cut(line) for line in body.lines)


def waits_for_others(body: Body) -> bool:
    """Return whether blocks of body wait for other blocks: at barriers of the grid, or in iterations of a loop."""
    lines = body.lines
    return any(call.collective.kind in _LATER for line in lines if (call := read_call(line)))


def is_cut(line: str) -> bool:
    """Return whether an instruction is one that threads wait at."""
    return read_call(line) is not None


def arrival(line: str) -> int | None:
    """Return the number of the barrier at which an instruction of a split block ends its region, or None."""
    return _number(line, _ARRIVE)


def goes_on(block: Block) -> tuple[str, ...]:
    """Return the labels of the blocks that a region goes on to from a block; none where it ends at a barrier."""
    return block.successors if arrival(block.lines[-1]) is None else ()


def passage(line: str) -> int | None:
    """Return the number of the function that goes on where an instruction ends a region, or None."""
    return _number(line, _PASS)


def passing(number: int, label: str) -> str:
    """Return the instruction that ends a region where a function goes on that regions share (outlining.py)."""
    return f"{_PASS} {number}, label {label}"


def _number(line: str, operation: str) -> int | None:
    """Return the number of an operation that ends a region; None for another instruction."""
    found = parse(line)
    return int(found.notes.partition(",")[0]) if found.opcode == operation else None


def split(body: Body) -> SplitBlocks:
    """Return body's blocks: at every barrier a block ends with an arrival, and the rest is a block of its own."""
    calls = [call.collective for line in body.lines if (call := read_call(line))]
    numbers = _numbers(calls)
    known = dict(zip(numbers, calls, strict=True))
    blocks: dict[str, Block] = {}
    starts = {0: body.blocks[0].label}
    last: dict[str, str] = {}
    extracts, whole = _extracts(body), _used_whole(body)
    for block in body.blocks:
        own, numbers = numbers[: (count := _count(block))], numbers[count:]
        pieces = _pieces(block, own, extracts, whole)
        blocks |= {piece.label: piece for piece in pieces}
        starts |= {number: piece.label for number, piece in zip(own, pieces[1:], strict=True)}
        last[block.label] = pieces[-1].label
    later = [call.kind for call in calls if call.kind in _LATER]
    return SplitBlocks(
        blocks={label: _follow(block, last) for label, block in blocks.items()},
        starts=tuple(starts[number] for number in sorted(starts)),
        collectives=(None, *(known[number] for number in sorted(known))),
        first_of_grid=1 + len(calls) - len(later),
        first_turn=1 + len(calls) - later.count(warp_kinds.TURN),
    )


def _numbers(calls: Sequence[Collective]) -> list[int]:
    """Return the number of each cut."""
    order = sorted(range(len(calls)), key=lambda place: _LATER.get(calls[place].kind, 0))
    return [number for _, number in sorted(zip(order, range(1, len(calls) + 1), strict=True))]


def _count(block: Block) -> int:
    return sum(is_cut(line) for line in block.lines)


def _extracts(body: Body) -> Mapping[str, Sequence[str]]:
    """Return the instructions that take each barrier's result apart. They move to it: pairs do not cross others."""
    lines = list(body.lines)
    found: dict[str, list[str]] = {call.result: [] for line in lines if (call := read_call(line))}
    for line in lines:
        if (part := extracted(line)) and part[0] in found:
            found[part[0]].append(line)
    return found


def _used_whole(body: Body) -> set[str]:
    """Return the pairs that instructions use without taking them apart: phis where ways of two votes meet."""
    uses = (parse(line) for line in body.lines if PAIR in line and not extracted(line))
    return {operand.value for one in uses for operand in one.operands if operand.type == PAIR}


def _pieces(
    block: Block, numbers: Sequence[int], extracts: Mapping[str, Sequence[str]], whole: Collection[str]
) -> list[Block]:
    """Return block cut after its barriers, which have these numbers; whole: results that are not only taken apart."""
    pieces = list[Block]()
    label, lines = block.label, list[str]()
    for line in block.lines:
        if call := read_call(line):
            at = numbers[len(pieces)]
            after = f"%gj.after.{at}"
            lines += [*given(call, at), f"{_ARRIVE} {at}, label {after}"]
            pieces.append(Block(label=label, lines=tuple(lines)))
            label, lines = after, got(call, at, extracts.get(call.result, ()), call.result in whole)
        elif not ((part := extracted(line)) and part[0] in extracts):
            lines.append(line)
    return [*pieces, Block(label=label, lines=tuple(lines))]


def _follow(block: Block, last: Mapping[str, str]) -> Block:
    """Return block with its phis naming the last piece of each block they come from."""
    lines = (with_predecessors(line, last) if opcode(line) == "phi" else line for line in block.lines)
    return Block(label=block.label, lines=tuple(lines))
