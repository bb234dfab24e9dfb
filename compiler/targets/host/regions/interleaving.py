"""Interleaving: a loop that steps by the size of a block or grid, as one whose turns all threads take together.

Then the cut at that barrier makes each turn a region of its own, which all threads run side by side: neighbours are at
neighbouring places, and what a thread carries from turn to turn - a sum - is kept in the slab. A barrier that no
program asked for only adds order. It is put where every thread of a block comes by: the first thread starts first and
so takes the most turns, and all others wait along with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.library.intrinsics import BARRIER
from gridjit.compiler.targets.host.regions.body import Block, Body, arms, defined, opcode, rename, used, without_labels
from gridjit.compiler.targets.host.regions.meetings import meetings
from gridjit.compiler.targets.host.regions.operations import PURE, may_wait
from gridjit.compiler.targets.host.regions.slots import ValueType
from gridjit.compiler.targets.host.regions.turns import BRANCH, GOTO, compared, end_of_range, is_non_negative, other

_SIZES = re.compile(r"%gj\.n(?:tid|ctaid)\.[xyz]")
_THREADS = re.compile(r"%gj\.(?:tid\.[xyz]|thread)")
_PHI = re.compile(r"(\S+) = phi (.+?) \[")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """A loop: the block before it, its first and last block, the block of its turns, and the one after it.

    carried: its phis, by name, with the values that they have first and next. place, step, predicate, end: it goes on
    while the place compares so with the end. skipped: phis and comparisons that only count turns.
    """

    before: str
    head: str
    entered: str
    last: str
    after: str
    inside: frozenset[str]
    carried: Mapping[str, tuple[str, str]]
    place: str
    step: str
    predicate: str
    end: str
    skipped: frozenset[str]

    @property
    def kept(self) -> dict[str, tuple[str, str]]:
        """What a thread carries besides its place."""
        return {
            name: values for name, values in self.carried.items() if name != self.place and name not in self.skipped
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaved:
    """A body with its strided loops interleaved, and the types of the values that this added, given those it had."""

    body: Body
    copies: Mapping[str, str]
    counters: frozenset[str]

    def types(self, known: Mapping[str, ValueType]) -> dict[str, ValueType]:
        """Return known types and those of the added values."""
        counter = ValueType(text="i64", size=8, align=8)
        added = {copy: known[name] for copy, name in self.copies.items() if name in known}
        return {**known, **added, **dict.fromkeys(self.counters, counter)}


def interleave(body: Body) -> Interleaved:
    """Return body with the loops interleaved for which that is right."""
    done = Interleaved(body=body, copies={}, counters=frozenset())
    if any(opcode(line) == "alloca" or may_wait(line) for block in body.blocks for line in block.lines):
        return done
    for number, label in enumerate(_passed_by_all(body)):
        loop = _read(done.body, label)
        if loop is not None:
            done = _rewritten(done, loop, number)
    return done


def _passed_by_all(body: Body) -> Iterator[str]:
    """Yield the blocks that every thread passes, in their order."""
    meet = meetings({block.label: block for block in body.blocks})
    label: str | None = body.blocks[0].label
    seen: set[str] = set()
    while label and label not in seen:
        seen.add(label)
        yield label
        label = meet[label]


def _read(body: Body, before: str) -> _Loop | None:
    """Return the loop that begins after a block, if it can be interleaved."""
    blocks = {block.label: block for block in body.blocks}
    if before not in blocks:  # it was the head of another loop
        return None
    lines = {name: line for block in body.blocks for line in block.lines if (name := defined(line))}
    end = blocks[before].lines[-1]
    way, asked = GOTO.match(end), BRANCH.match(end)
    head = blocks[way[1]] if way else blocks[asked[2]] if asked else None
    if head is None or not head.phis:
        return None
    pairs = {defined(phi) or "": {label: value for value, label in arms(phi)} for phi in head.phis}
    sources = {label for label, block in blocks.items() if head.label in block.successors}
    if before not in sources or len(sources) != 2:
        return None
    (last,) = sources - {before}
    carried = {name: (values[before], values[last]) for name, values in pairs.items()}
    inside = _between(head.label, last, blocks)
    if inside is None or before in inside:
        return None
    found = (
        _tested(blocks, lines, before, head, last, carried)
        if way
        else _rotated(blocks, lines, before, head, last, carried)
    )
    if found is None:
        return None
    entered, after, place, predicate, finish, skipped = found
    loop = _Loop(
        before=before,
        head=head.label,
        entered=entered,
        last=last,
        after=after,
        inside=frozenset(inside),
        carried=carried,
        place=place,
        step=other(carried[place][1], place, lines),
        predicate=predicate,
        end=finish,
        skipped=frozenset(skipped),
    )
    return loop if _is_right(loop, blocks, lines) else None


def _between(head: str, last: str, blocks: Mapping[str, Block]) -> set[str] | None:
    """Return the blocks of a loop: those from which last is reached without its head."""
    before: dict[str, list[str]] = {}
    for label, block in blocks.items():
        for target in block.successors:
            before.setdefault(target, []).append(label)
    seen, waiting = {head, last}, [last] if last != head else []
    while waiting:
        for label in before.get(waiting.pop(), ()):
            if label not in seen:
                seen.add(label)
                waiting.append(label)
    return seen


_Found = tuple[str, str, str, str, str, set[str]]


def _tested(
    blocks: Mapping[str, Block],
    lines: Mapping[str, str],
    before: str,
    head: Block,
    last: str,
    carried: Mapping[str, tuple[str, str]],
) -> _Found | None:
    """Return what is known of a loop that is asked at the beginning of each turn."""
    ask = BRANCH.match(head.lines[-1])
    if ask is None or GOTO.match(blocks[last].lines[-1]) is None:
        return None
    if (
        (found := compared(ask[1], lines)) is not None
        and found[0] in carried
        and other(carried[found[0]][1], found[0], lines)
    ):
        return ask[2], ask[3], found[0], found[1], found[2], set()
    count = re.match(r"\S+ = icmp sgt i64 (\S+), 0$", lines.get(ask[1], ""))
    places = [name for name, (_, following) in carried.items() if other(following, name, lines)]
    for place in places if count is not None and count[1] in carried else ():
        step = other(carried[place][1], place, lines)
        finish = end_of_range(blocks, before, head, count[1], carried[place][0], step, lines) if count else None
        if finish is not None and count is not None:
            return ask[2], ask[3], place, "slt", finish, {count[1], carried[count[1]][1]}
    return None


def _rotated(
    blocks: Mapping[str, Block],
    lines: Mapping[str, str],
    before: str,
    head: Block,
    last: str,
    carried: Mapping[str, tuple[str, str]],
) -> _Found | None:
    """Return what is known of a loop that is asked whether it is entered, and at the end of each turn."""
    enter, again = BRANCH.match(blocks[before].lines[-1]), BRANCH.match(blocks[last].lines[-1])
    if enter is None or again is None or (again[2], again[3]) != (head.label, enter[3]):
        return None
    first, more = compared(enter[1], lines), compared(again[1], lines)
    if first is None or more is None or first[1:] != more[1:]:
        return None
    place = next((name for name, values in carried.items() if values == (first[0], more[0])), "")
    if not place or not other(more[0], place, lines):
        return None
    return head.label, enter[3], place, first[1], first[2], set()


def _is_right(loop: _Loop, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> bool:
    """Return whether all threads may take their turns together, and the values after the loop are those it carries."""
    exits = {(label, to) for label in loop.inside for to in blocks[label].successors if to not in loop.inside}
    if exits != {(loop.head if loop.entered != loop.head else loop.last, loop.after)}:
        return False
    start = loop.carried[loop.place][0]
    step, end = _made_of([loop.step], lines), _made_of([loop.end], lines)
    if not is_non_negative(start, lines) or not is_non_negative(loop.step, lines) or not _SIZES.search(" ".join(step)):
        return False
    inner = {name for label in loop.inside for line in blocks[label].lines if (name := defined(line))}
    for name in {*step, *end}:
        if _THREADS.fullmatch(name) or (name in lines and opcode(lines[name]) not in PURE):
            return False
    if not all(opcode(lines[name]) in PURE for name in _made_of([start], lines) if name in lines):
        return False
    if any(defined(line) in loop.carried for name in (*step, *end) if (line := lines.get(name, ""))):
        return False
    outside = [block for label, block in blocks.items() if label not in loop.inside]
    lost = inner - set(loop.kept) - set(step) - set(end)
    for block in outside:
        for line in block.lines:
            if block.label == loop.after and opcode(line) == "phi":
                if _joined(line, loop) is None:
                    return False
            elif not lost.isdisjoint(used(without_labels(line))):
                return False
    if loop.entered != loop.head:
        # Only what decides whether the loop goes on is between its head and its turns.
        rest = [line for line in blocks[loop.head].lines[:-1] if opcode(line) != "phi"]
        mine = {name for line in rest if (name := defined(line))} - set(step) - set(end)
        if any(opcode(line) not in PURE for line in rest) or _is_used(mine, loop, blocks):
            return False
    return True


def _is_used(names: Collection[str], loop: _Loop, blocks: Mapping[str, Block]) -> bool:
    """Return whether a turn's own blocks use values of the loop's head."""
    return any(
        not set(names).isdisjoint(used(without_labels(line)))
        for label in loop.inside - {loop.head}
        for line in blocks[label].lines
    )


def _made_of(names: list[str], lines: Mapping[str, str]) -> list[str]:
    """Return names and all that they are made of, each after what it is made of."""
    order: dict[str, None] = {}
    stack = [(name, False) for name in names]
    while stack:
        name, done = stack.pop()
        if done:
            order[name] = None
        elif name not in order and name.startswith("%"):
            stack.append((name, True))
            line = lines.get(name, "")
            if line and opcode(line) != "phi":
                stack += [(one, False) for one in used(without_labels(line)) if one not in order]
    return list(order)


def _joined(phi: str, loop: _Loop) -> str | None:
    """Return the phi of the block after a loop, with the ways out of it as one, or None if that is not possible."""
    ways = arms(phi)
    left = {label: value for value, label in ways if label in (loop.before, loop.last, loop.head)}
    values = {left.get(loop.last, left.get(loop.head)), *left.values()}
    if loop.entered == loop.head:  # a rotated loop may be left before it began
        want = (left.get(loop.before), left.get(loop.last))
        value = next((name for name, both in loop.kept.items() if both == want), None)
        if value is None and len(values) == 1 and not _is_of(want[0] or "", loop):
            value = want[0]
    else:
        value = left.get(loop.head)
        value = value if value is None or not _is_of(value, loop) or value in loop.kept else None
    if value is None:
        return None
    rest = [f"[ {one}, {label} ]" for one, label in ways if label not in left]
    return phi[: phi.index("[")] + ", ".join([*rest, f"[ {value}, {_head(loop)} ]"])


def _is_of(value: str, loop: _Loop) -> bool:
    return value in loop.carried or any(value in values[1:] for values in loop.carried.values())


def _head(loop: _Loop) -> str:
    return f'%"gj.together.{loop.head[1:].strip(chr(34))}"'


def _rewritten(done: Interleaved, loop: _Loop, number: int) -> Interleaved:
    """Return a body with one more loop interleaved."""
    blocks = {block.label: block for block in done.body.blocks}
    lines = {name: line for block in done.body.blocks for line in block.lines if (name := defined(line))}
    names = _Names(number)
    moved = [
        name
        for name in _made_of([loop.step, loop.end], lines)
        if any(_defines(blocks[one], name) for one in loop.inside)
    ]
    start = loop.carried[loop.place][0]
    first = _first_thread(start, lines, names)
    copies = {names.of("after", name): name for name in loop.kept}
    copies |= {names.of("first", name): name for name in _made_of([start], lines) if name in lines}
    before = blocks[loop.before]
    opened = Block(
        label=before.label,
        lines=(*before.lines[:-1], *(lines[name] for name in moved), *first.values(), f"br label {_head(loop)}"),
    )
    placed = {opened.label: opened}
    for label in loop.inside:
        placed[label] = _turn(blocks[label], loop, set(moved), names)
    after = blocks[loop.after]
    placed[after.label] = Block(
        label=after.label,
        lines=tuple(_joined(line, loop) or line if opcode(line) == "phi" else line for line in after.lines),
    )
    kinds = {found[1]: found[2] for phi in blocks[loop.head].phis if (found := _PHI.match(phi))}
    new = [*_together(loop, names, next(reversed(first), start), kinds), _wait(loop, names, kinds)]
    dropped = {loop.head} if loop.entered != loop.head else set()
    kept = [placed.get(block.label, block) for block in done.body.blocks if block.label not in dropped]
    return Interleaved(
        body=replace(done.body, blocks=(*kept, *new)),
        copies={**done.copies, **copies},
        counters=done.counters | {names.turn},
    )


class _Names:
    """The names of what is added for a loop."""

    def __init__(self, number: int) -> None:
        self.number = number

    def of(self, word: str, name: str = "") -> str:
        """Return the name of a value that is made for a loop, or for one of its values."""
        return f'%"gj.{word}.{self.number}.{name[1:].strip(chr(34))}"'

    @property
    def turn(self) -> str:
        """The number of a turn."""
        return self.of("turn")


def _defines(block: Block, name: str) -> bool:
    return any(defined(line) == name for line in block.lines)


def _first_thread(start: str, lines: Mapping[str, str], names: _Names) -> dict[str, str]:
    """Return the instructions, by name, that compute where the first thread of the block starts."""
    made = [name for name in _made_of([start], lines) if name in lines]
    new = {name: names.of("first", name) for name in made}
    zeros = {name: "0" for line in made for name in used(lines[line]) if _THREADS.fullmatch(name)}
    return {new[name]: rename(lines[name], {**new, **zeros}) for name in made}


def _together(loop: _Loop, names: _Names, first: str, kinds: Mapping[str, str]) -> list[Block]:
    """Return the loop's new head, which asks for the first thread, and the block that asks each thread."""
    wait, mine = names.of("wait"), names.of("mine")
    phis = [
        f"{name} = phi {kinds[name]} [ {before}, {loop.before} ], [ {names.of('after', name)}, {wait} ]"
        for name, (before, _) in loop.kept.items()
    ]
    start = loop.carried[loop.place][0]
    far, ahead, all_go, own, go = (names.of(word) for word in ("far", "ahead", "all", "own", "go"))
    head = (
        f"{names.turn} = phi i64 [ 0, {loop.before} ], [ {names.of('next')}, {wait} ]",
        *phis,
        f"{far} = mul i64 {names.turn}, {loop.step}",
        f"{ahead} = add i64 {first}, {far}",
        f"{all_go} = icmp {loop.predicate} i64 {ahead}, {loop.end}",
        f"br i1 {all_go}, label {mine}, label {loop.after}",
    )
    asks = (
        f"{own} = add i64 {start}, {far}",
        f"{go} = icmp {loop.predicate} i64 {own}, {loop.end}",
        f"br i1 {go}, label {names.of('place')}, label {wait}",
    )
    place = (
        f"{loop.place} = add nsw i64 {start}, {far}",
        f"{names.of('known')} = icmp sge i64 {loop.place}, 0",
        f"call void @llvm.assume(i1 {names.of('known')})",
        f"br label {loop.entered}",
    )
    labelled = ((_head(loop), head), (mine, asks), (names.of("place"), place))
    return [Block(label=label, lines=lines) for label, lines in labelled]


def _wait(loop: _Loop, names: _Names, kinds: Mapping[str, str]) -> Block:
    """Return the block in which all threads end a turn, with or without having taken it."""
    phis = [
        f"{names.of('after', name)} = phi {kinds[name]} [ {name}, {names.of('mine')} ], [ {following}, {loop.last} ]"
        for name, (_, following) in loop.kept.items()
    ]
    count = f"{names.of('next')} = add i64 {names.turn}, 1"
    return Block(label=names.of("wait"), lines=(*phis, f'call void @"{BARRIER}"()', count, f"br label {_head(loop)}"))


def _turn(block: Block, loop: _Loop, moved: Collection[str], names: _Names) -> Block:
    """Return a block of the loop as one of a turn."""
    lines = [
        line for line in block.lines[:-1] if (name := defined(line)) is None or name not in {*moved, *loop.skipped}
    ]
    if block.label == loop.head:
        lines = [line for line in lines if opcode(line) != "phi"]
    if block.label == loop.entered:
        start = f", {loop.head} ]"
        lines = [line.replace(start, f", {names.of('place')} ]") if opcode(line) == "phi" else line for line in lines]
    end = f"br label {names.of('wait')}" if block.label == loop.last else block.lines[-1]
    return Block(label=block.label, lines=(*lines, end))
