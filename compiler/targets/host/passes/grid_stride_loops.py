"""Grid-stride loops: a kernel that is one, as the kernel of one iteration (turn) of that loop.

`i = cuda.grid(1)`, `while i < n:`, `i += cuda.gridsize(1)` makes a thread jump through memory. Neighbouring threads are
at neighbouring places in each iteration, so iterations are run one after the other, each by all threads. That is right
if a thread carries nothing from iteration to iteration but the place i, and does nothing before and after the loop.
Threads are not ordered, and each still takes its own iterations in order. While others continue, a place must not wrap
around and come before the end again. The kernel of one iteration returns whether the thread took it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.loop_steps import (
    compared,
    compared_with,
    end_of_range,
    is_non_negative,
    is_short,
    other,
)
from gridjit.compiler.targets.host.ir.body import Block, Body, defined, definitions_of, opcode, reads, used
from gridjit.compiler.targets.host.ir.opcodes import PURE, may_wait
from gridjit.compiler.targets.host.ir.parse import parse

TURN = "%gj.turn"
_TOOK = "%gj.took"
# Otherwise each index would be tested for counting from an array's end.
_KNOWN = """%"gj.not.negative" = icmp sge i64 {place}, 0
call void @llvm.assume(i1 %"gj.not.negative")"""
# Of a loop's only phi: its name, its first and its next value, and the block that the next is from.
_Step: TypeAlias = tuple[str, str, str, str]
# What may be computed in every turn, since it is the same each time.
_AGAIN = PURE | {"fdiv", "fneg", "fpext", "fptrunc", "bitcast", "ptrtoint", "inttoptr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """A loop that starts at a place, steps on, and goes on while a comparison with its end holds.

    entered: the first block of a turn. last: the block that ends one. place: the name of the place in a turn. dropped:
    a value that only counted turns.
    """

    head: str
    entered: str
    last: str
    place: str
    start: str
    step: str
    predicate: str
    end: str
    dropped: str = ""


def one_iteration(body: Body) -> Body | None:
    """Return the kernel of one turn, whose number is in TURN, of a kernel that is a grid-stride loop, or None."""
    lines = definitions_of(body.lines)
    if any(opcode(line) == "alloca" or may_wait(line) for line in body.lines):
        return None
    blocks = body.by_label
    entry = body.blocks[0]
    if not all(opcode(line) in _AGAIN for line in entry.lines[:-1]):
        return None
    for read in (_read_while, _read_tested, _read_range):
        loop = read(entry, blocks, lines)
        if loop is not None and _only_grows(loop, lines):
            return _rewritten(body, loop, blocks, lines)
    return None


def _only_grows(loop: _Loop, lines: Mapping[str, str]) -> bool:
    """Return whether places only grow; unsigned ones that may be below zero would wrap around to the first."""
    return is_short(loop.step, lines) and (loop.predicate[0] == "s" or is_non_negative(loop.start, lines))


def _ends(block: Block) -> bool:
    return block.lines == ("ret i32 0",)


def _read_while(entry: Block, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> _Loop | None:
    """Return a loop with a test before it is entered, and one at the end of each turn."""
    if not entry.end.condition or not _ends(blocks[entry.end.labels[1]]):
        return None
    entered, out = entry.end.labels
    head = blocks[entered]
    step = _stepping(head, entry.label, lines)
    if step is None:
        return None
    _, start, following, last = step
    back = blocks[last].end
    if not back.condition or back.labels != (entered, out) or _sources(out, blocks) != {entry.label, last}:
        return None
    first, again = compared(entry.end.condition, lines), compared(back.condition, lines)
    if first is None or again is None or first[1:] != again[1:] or (first[0], again[0]) != (start, following):
        return None
    return _asked(head, entered, step, first, lines)


def _read_tested(entry: Block, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> _Loop | None:
    """Return a loop with a test at the beginning of each turn."""
    if not entry.end.target:
        return None
    head = blocks[entry.end.target]
    step = _stepping(head, entry.label, lines)
    if step is None or not _may_end(head, blocks):
        return None
    place, _, _, last = step
    found = compared(head.end.condition, lines)
    if found is None or found[0] != place or not blocks[last].end.target:
        return None
    return _asked(head, head.end.labels[0], step, found, lines)


def _asked(head: Block, entered: str, step: _Step, found: tuple[str, str, str], lines: Mapping[str, str]) -> _Loop:
    """Return a loop that goes on while a comparison holds. found: what is compared, how, and with what."""
    place, start, following, last = step
    return _Loop(
        head=head.label,
        entered=entered,
        last=last,
        place=place,
        start=start,
        step=other(following, place, lines),
        predicate=found[1],
        end=found[2],
    )


def _may_end(head: Block, blocks: Mapping[str, Block]) -> bool:
    """Return whether a loop's head asks for another turn, and threads end there and nowhere else if there is none."""
    if not head.end.condition:
        return False
    out = head.end.labels[1]
    return _ends(blocks[out]) and _sources(out, blocks) == {head.label}


def _read_range(entry: Block, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> _Loop | None:
    """Return a loop over a range, whose turns were counted before the first of them."""
    if not entry.end.condition:
        return None
    before, counting = (blocks[label] for label in entry.end.labels)
    if not before.end.target or _sources(before.label, blocks) != {entry.label, counting.label}:
        return None
    head = blocks[before.end.target]
    if not _may_end(head, blocks) or len(head.phis) != 2 or len(head.lines) != 4:
        return None
    left = compared_with(head.end.condition, "sgt", "0", lines)
    if left is None or left.type != "i64":
        return None
    step = _stepping(head, before.label, lines, besides=left.value)
    if step is None:
        return None
    place, start, following, last = step
    by = other(following, place, lines)
    end = end_of_range(blocks, before.label, head, left.value, start, by, lines)
    if end is None or end[1] or not blocks[last].end.target:
        return None
    count = next(phi for phi in map(parse, head.phis) if phi.result == left.value)
    return _Loop(
        head=head.label,
        entered=head.end.labels[0],
        last=last,
        place=place,
        start=start,
        step=by,
        predicate="slt",
        end=end[0],
        dropped=next(value for value, label in count.arms if label == last),
    )


def _stepping(head: Block, before: str, lines: Mapping[str, str], besides: str = "") -> _Step | None:
    """Return the step of a loop that has one phi, not counting the one named besides."""
    phis = [phi for phi in map(parse, head.phis) if phi.result != besides]
    if len(phis) != 1 or len(phis[0].arms) != 2:
        return None
    (phi,) = phis
    back = [arm for arm in phi.arms if arm[1] != before]
    if len(back) != 1 or not other(back[0][0], phi.result, lines):
        return None
    first = next(value for value, label in phi.arms if label == before)
    return phi.result, first, *back[0]


def _sources(label: str, blocks: Mapping[str, Block]) -> set[str]:
    return {block.label for block in blocks.values() if label in block.successors}


def _rewritten(body: Body, loop: _Loop, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> Body | None:
    """Return the kernel of one iteration, if the loop's step and its end are the same in all iterations."""
    entry = body.blocks[0]
    inside = _reached(loop.entered, loop.last, blocks) | {loop.head}
    out = next(label for label in blocks if _ends(blocks[label]))
    if any(target not in inside | {out} for label in inside for target in blocks[label].successors):
        return None
    if out in {target for label in inside - {loop.last, loop.head} for target in blocks[label].successors}:
        return None
    moved = _moved([loop.step, loop.end], inside, blocks)
    if moved is None:
        return None
    ahead = '%"gj.ahead"'
    first = (
        *entry.lines[:-1],
        *moved.values(),
        f'%"gj.turned" = mul i64 {TURN}, {loop.step}',
        f'{ahead} = add i64 {loop.start}, %"gj.turned"',
        f'%"gj.goes.on" = icmp {loop.predicate} i64 {ahead}, {loop.end}',
        f'br i1 %"gj.goes.on", label %gj.place, label {out}',
    )
    signed = loop.predicate[0] == "s" or is_non_negative(loop.end, lines)
    place = (
        f'%"gj.after" = icmp {loop.predicate[0]}ge i64 {ahead}, {loop.start}',
        # Where bounds were found, nothing wrapped around.
        '%"gj.fits" = or i1 %"gj.after", %gj.all',
        f'br i1 %"gj.fits", label %gj.placed, label {out}',
    )
    known = signed and is_non_negative(loop.start, lines)
    placed = (
        f'%"gj.stepped" = mul {"nsw" if signed else "nuw"} i64 {TURN}, {loop.step}',
        f'{loop.place} = add {"nsw" if signed else "nuw"} i64 {loop.start}, %"gj.stepped"',
        *(_KNOWN.format(place=loop.place).split("\n") if known else ()),
        f"br label {loop.entered}",
    )
    gone = {*moved, loop.dropped}
    turn = [_turned(blocks[label], loop, gone) for label in blocks if label in inside]
    kept = [block for block in turn if block.label != loop.head or loop.entered == loop.head]
    lost = {name for label in inside for line in blocks[label].lines if (name := defined(line))} - set(moved)
    lost -= {loop.place, *(name for block in kept for line in block.lines if (name := defined(line)))}
    if any(not lost.isdisjoint(used(line)) for block in kept for line in block.lines):
        return None
    start = [Block(label=entry.label, lines=first), Block(label="%gj.place", lines=place)]
    start.append(Block(label="%gj.placed", lines=placed))
    return replace(body, blocks=(*start, *kept, Block(label=_TOOK, lines=("ret i32 1",)), blocks[out]))


def _turned(block: Block, loop: _Loop, moved: Collection[str]) -> Block:
    """Return a block of the loop as one of a turn: it has no phis of the loop, and its last one ends the turn."""
    lines = [line for line in block.lines[:-1] if defined(line) not in moved]
    if block.label == loop.head:
        lines = [line for line in lines if opcode(line) != "phi"]
    end = f"br label {_TOOK}" if block.label == loop.last else block.lines[-1]
    if block.label == loop.entered:
        placed = {loop.head: "%gj.placed"}
        lines = [str(parse(line).with_labels(placed)) if opcode(line) == "phi" else line for line in lines]
    return Block(label=block.label, lines=(*lines, end))


def _moved(names: list[str], inside: Collection[str], blocks: Mapping[str, Block]) -> dict[str, str] | None:
    """Return the instructions of the loop that names are made of, in order, or None if they differ between turns."""
    made = {name: line for label in inside for line in blocks[label].lines if (name := defined(line))}
    order: dict[str, str] = {}

    def visit(name: str) -> bool:
        if name not in made or name in order:
            return True
        if opcode(made[name]) not in PURE or not all(visit(one) for one in sorted(reads(made[name]))):
            return False
        order[name] = made[name]
        return True

    return order if all(visit(name) for name in names) else None


def _reached(start: str, last: str, blocks: Mapping[str, Block]) -> set[str]:
    """Return the blocks of a turn that begins at start and ends with last."""
    return set(reached([start], lambda label: blocks[label].successors if label != last else ()))
