"""Interchange of strided loops: all threads take the iterations of a loop together that steps by a block or grid.

A barrier is put at the end of each turn. The cut there makes the turn a region of its own, which all threads run side
by side: neighbours are at neighbouring places, and what a thread carries from iteration to iteration - a sum - is kept
in the slab. A barrier that the program did not ask for only adds order. Every thread of a block comes to it: the first
thread starts first and so takes the most turns, and all others wait with it.

If threads come to the loop straight from a barrier, that one and those of its turns become one at the loop's head. Else
the region from the barrier on and the one of a turn would hold the same code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.analysis.loops import loops
from gridjit.compiler.targets.host.analysis.strided_loops import (
    THREADS,
    Stays,
    StridedLoop,
    joined,
    made_of,
    new_head,
    passed_as_often,
    passed_by_all,
    strided_loop,
)
from gridjit.compiler.targets.host.ir.body import Block, Body, defined, definitions_of, opcode, rename, used
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.instructions import beside
from gridjit.compiler.targets.host.ir.intrinsics import BARRIER
from gridjit.compiler.targets.host.ir.opcodes import may_wait
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.loop_header_barriers import barrier_before, without

_BARRIER = f'call void @"{BARRIER}"()'


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedInterchange:
    """A body with its strided loops interleaved, and the types of the values that this added, given those it had.

    turns: the numbers of the loops' turns, among the counters.
    """

    body: Body
    copies: Mapping[str, str]
    counters: frozenset[str]
    turns: frozenset[str] = frozenset()

    def types(self, known: Mapping[str, ValueType]) -> dict[str, ValueType]:
        """Return known types and the types of the added values."""
        counter = ValueType(text="i64", size=8, align=8)
        added = {copy: known[name] for copy, name in self.copies.items() if name in known}
        return {**known, **added, **dict.fromkeys(self.counters, counter)}


def interchange_strided(body: Body, stays: Stays = tuple, *, joins: bool = True) -> StridedInterchange:
    """Return body with all those loops interleaved that may be. stays: see strided_loop.

    joins: whether barriers before loops may be moved to their heads.
    """
    done = StridedInterchange(body=body, copies={}, counters=frozenset())
    if any(opcode(line) == "alloca" or may_wait(line) for line in body.lines):
        return done
    blocks = body.by_label
    heads = {loop.head for loop in loops(blocks)}
    for number, label in enumerate(passed_by_all(replace(body, blocks=stays(body.blocks)))):
        if heads.isdisjoint(blocks[label].successors):
            continue
        loop = strided_loop(done.body, label, stays)
        if loop is not None and passed_as_often(body, label, stays):
            done = _rewritten(done, loop, number, joins=joins)
    return done


def _rewritten(done: StridedInterchange, loop: StridedLoop, number: int, *, joins: bool) -> StridedInterchange:
    """Return a body with one more loop interleaved."""
    blocks = done.body.by_label
    barrier = barrier_before(blocks, loop.before) if joins else None
    if barrier is not None:
        blocks = {**blocks, barrier.label: without(blocks[barrier.label], barrier.place)}
    lines = definitions_of(done.body.lines)
    lines |= definitions_of(loop.widening)
    names = _Names(number)
    moved = [
        name
        for name in made_of([loop.start, loop.step, loop.end], lines)
        if any(_defines(blocks[one], name) for one in loop.inside) or lines.get(name) in loop.widening
    ]
    start = loop.start
    first = _first_thread(start, lines, names)
    first_start = next(reversed(first), start)
    copies = {names.of("after", name): name for name in loop.kept}
    copies |= {names.of("left", name): name for name in loop.kept}
    copies |= {names.of("first", name): name for name in made_of([start], lines) if name in lines}
    before = blocks[loop.before]
    opened = Block(
        label=before.label,
        lines=(
            *before.lines[:-1],
            *(lines[name] for name in moved),
            *first.values(),
            *([f"br label {new_head(loop)}"] if barrier else _any(loop, names, first_start)),
        ),
    )
    placed = {opened.label: opened}
    for label in loop.inside:
        placed[label] = _turn(blocks[label], loop, set(moved), names)
    after = blocks[loop.after]
    placed[after.label] = Block(
        label=after.label,
        lines=tuple(_after(line, loop, names) if opcode(line) == "phi" else line for line in after.lines),
    )
    kinds = {phi.result: phi.type for phi in map(parse, blocks[loop.head].phis)}
    new = (_at_head if barrier else _apart)(loop, names, kinds, first_start)
    dropped = {loop.head} if loop.entered != loop.head else set()
    kept = [placed.get(label, block) for label, block in blocks.items() if label not in dropped]
    kept = [block if block.label in loop.inside | loop.ends else _behind(block, loop, names) for block in kept]
    return StridedInterchange(
        body=replace(done.body, blocks=(*kept, *new)),
        copies={**done.copies, **copies},
        counters=done.counters
        | {names.turn, names.of("next")}
        | {name for line in loop.widening if (name := defined(line))},
        turns=done.turns | {names.turn},
    )


class _Names:
    """The names of the values that are added for a loop."""

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, word: str, name: str = "") -> str:
        """Return the name of a value that is made for a loop, or for one of its values."""
        return beside(name, f"{word}.{self.number}")

    @property
    def turn(self) -> str:
        """The number of a turn."""
        return self.of("turn")


def _defines(block: Block, name: str) -> bool:
    return any(defined(line) == name for line in block.lines)


def _first_thread(start: str, lines: Mapping[str, str], names: _Names) -> dict[str, str]:
    """Return the instructions, by name, that compute where the first thread of the block starts."""
    made = [name for name in made_of([start], lines) if name in lines]
    new = {name: names.of("first", name) for name in made}
    zeros = {name: "0" for line in made for name in used(lines[line]) if name in THREADS}
    return {new[name]: rename(lines[name], {**new, **zeros}) for name in made}


def _after(phi: str, loop: StridedLoop, names: _Names) -> str:
    """Return the phi of the block after a loop with the one way out of it that is left."""
    return str(parse(joined(phi, loop) or phi).with_labels({new_head(loop): names.of("left")}))


def _behind(block: Block, loop: StridedLoop, names: _Names) -> Block:
    """Return a block outside a loop with the loop's carried values as they are when it is left."""
    lost = {name: names.of("left", name) for name in loop.kept}
    return Block(label=block.label, lines=tuple(rename(line, lost) for line in block.lines)) if lost else block


def _any(loop: StridedLoop, names: _Names, first: str) -> tuple[str, str]:
    """Return the lines that end the block before a loop: they go round it if not even the first thread has a turn."""
    return (
        f"{names.of('any')} = icmp {loop.predicate} i64 {first}, {loop.end}",
        f"br i1 {names.of('any')}, label {new_head(loop)}, label {names.of('left')}",
    )


def _more(loop: StridedLoop, names: _Names, first: str, turn: str, ways: tuple[str, str]) -> tuple[str, ...]:
    """Return the lines that ask whether the first thread has the turn of a number, and go one of two ways."""
    return (
        f"{names.of('ahead.far')} = mul i64 {turn}, {loop.step}",
        f"{names.of('ahead')} = add i64 {first}, {names.of('ahead.far')}",
        f"{names.of('more')} = icmp {loop.predicate} i64 {names.of('ahead')}, {loop.end}",
        f"br i1 {names.of('more')}, label {ways[0]}, label {ways[1]}",
    )


def _apart(loop: StridedLoop, names: _Names, kinds: Mapping[str, str], first: str) -> list[Block]:
    """Return the blocks of turns with a barrier between one and the next.

    Threads wait for each other only if the first thread has another turn. So a loop of one turn does not wait.
    """
    wait, again, left = (names.of(word) for word in ("wait", "again", "left"))
    ends = (*_ended(loop, names, kinds, new_head(loop)), *_more(loop, names, first, names.of("next"), (again, left)))
    out = [
        f"{names.of('left', name)} = phi {kinds[name]} [ {old}, {loop.before} ], [ {names.of('after', name)}, {wait} ]"
        for name, (old, _) in loop.kept.items()
    ]
    return [
        Block(label=new_head(loop), lines=(*_phis(loop, names, kinds, again), *_asked(loop, names))),
        _place(loop, names),
        Block(label=wait, lines=ends),
        Block(label=again, lines=(_BARRIER, f"br label {new_head(loop)}")),
        Block(label=left, lines=(*out, f"br label {loop.after}")),
    ]


def _at_head(loop: StridedLoop, names: _Names, kinds: Mapping[str, str], first: str) -> list[Block]:
    """Return the blocks of turns before each of which, and after the last, threads wait for each other."""
    wait, ask, left = (names.of(word) for word in ("wait", "ask", "left"))
    phis = _phis(loop, names, kinds, wait)
    out = [f"{names.of('left', name)} = phi {kinds[name]} [ {name}, {new_head(loop)} ]" for name in loop.kept]
    return [
        Block(label=new_head(loop), lines=(*phis, _BARRIER, *_more(loop, names, first, names.turn, (ask, left)))),
        Block(label=ask, lines=_asked(loop, names)),
        _place(loop, names),
        Block(label=wait, lines=(*_ended(loop, names, kinds, ask), f"br label {new_head(loop)}")),
        Block(label=left, lines=(*out, f"br label {loop.after}")),
    ]


def _phis(loop: StridedLoop, names: _Names, kinds: Mapping[str, str], back: str) -> tuple[str, ...]:
    """Return the phis of the loop's new head. back: the block from which the next iteration comes."""
    return (
        f"{names.turn} = phi i64 [ 0, {loop.before} ], [ {names.of('next')}, {back} ]",
        *(
            f"{name} = phi {kinds[name]} [ {before}, {loop.before} ], [ {names.of('after', name)}, {back} ]"
            for name, (before, _) in loop.kept.items()
        ),
    )


def _asked(loop: StridedLoop, names: _Names) -> tuple[str, ...]:
    """Return the lines that ask each thread whether it takes a turn."""
    far, own, go = (names.of(word) for word in ("far", "own", "go"))
    return (
        f"{far} = mul i64 {names.turn}, {loop.step}",
        f"{own} = add i64 {loop.start}, {far}",
        f"{go} = icmp {loop.predicate} i64 {own}, {loop.end}",
        f"br i1 {go}, label {names.of('place')}, label {names.of('wait')}",
    )


def _place(loop: StridedLoop, names: _Names) -> Block:
    """Return the block that finds a thread's place in a turn that it takes."""
    wide = names.of("wide") if loop.narrow else loop.place
    lines = (
        f"{wide} = add nsw i64 {loop.start}, {names.of('far')}",
        f"{names.of('known')} = icmp sge i64 {wide}, 0",
        f"call void @llvm.assume(i1 {names.of('known')})",
        *([f"{loop.place} = trunc nuw nsw i64 {wide} to i32"] if loop.narrow else []),
        f"br label {loop.entered}",
    )
    return Block(label=names.of("place"), lines=lines)


def _ended(loop: StridedLoop, names: _Names, kinds: Mapping[str, str], asked: str) -> tuple[str, ...]:
    """Return the lines with which threads end a turn, whether they took it or not. asked: the block that asked them."""
    return (
        *(
            f"{names.of('after', name)} = phi {kinds[name]} [ {name}, {asked} ], [ {following}, {loop.last} ]"
            for name, (_, following) in loop.kept.items()
        ),
        f"{names.of('next')} = add i64 {names.turn}, 1",
    )


def _turn(block: Block, loop: StridedLoop, moved: Collection[str], names: _Names) -> Block:
    """Return a block of the loop as one of a turn."""
    lines = [
        line for line in block.lines[:-1] if (name := defined(line)) is None or name not in {*moved, *loop.skipped}
    ]
    if block.label == loop.head:
        lines = [line for line in lines if opcode(line) != "phi"]
    if block.label == loop.entered:
        place = {loop.head: names.of("place")}
        lines = [str(parse(line).with_labels(place)) if opcode(line) == "phi" else line for line in lines]
    end = f"br label {names.of('wait')}" if block.label == loop.last else block.lines[-1]
    return Block(label=block.label, lines=(*lines, end))
