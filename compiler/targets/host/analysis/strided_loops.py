"""Strided loops: loops that step by the size of a block or grid and that all threads of a block reach.

In doubt, a loop does not count as one of them, which costs only speed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.affine import affine
from gridjit.compiler.targets.host.analysis.exit_edges import without_exit_edges
from gridjit.compiler.targets.host.analysis.loop_steps import (
    compared,
    compared_with,
    end_of_range,
    is_non_negative,
    is_short,
    other,
)
from gridjit.compiler.targets.host.analysis.postdominators import between, postdominators
from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks, uniform_values
from gridjit.compiler.targets.host.ir.body import (
    Block,
    Body,
    defined,
    definitions_of,
    opcode,
    reads,
)
from gridjit.compiler.targets.host.ir.instructions import beside
from gridjit.compiler.targets.host.ir.opcodes import PURE
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.warp_operations import read_call

_SIZES = frozenset(f"%gj.n{word}.{axis}" for word in ("tid", "ctaid") for axis in "xyz")
# Gives a kernel's blocks without the branches to where it ends for good, and with it all of its threads.
Stays = Callable[[Collection[Block]], tuple[Block, ...]]
THREADS = frozenset(("%gj.tid.x", "%gj.tid.y", "%gj.tid.z", "%gj.thread"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedLoop:
    """A loop: the block before it, its first and last block, the block of its turns, and the one after it.

    carried: its phis, by name, with the values that they have first and next. place, start, step, predicate, end: it
    goes on while the place compares so with the end. All but a narrow place are 64 bits wide. widening: the
    instructions that compute them unless the kernel has them. skipped: phis and comparisons that only count turns.
    ends: the blocks to which a turn may go where the kernel ends.
    """

    before: str
    head: str
    entered: str
    last: str
    after: str
    inside: frozenset[str]
    carried: Mapping[str, tuple[str, str]]
    place: str
    narrow: bool
    start: str
    step: str
    predicate: str
    end: str
    widening: tuple[str, ...]
    skipped: frozenset[str]
    ends: frozenset[str]

    @property
    def kept(self) -> dict[str, tuple[str, str]]:
        """The values that a thread carries besides its place."""
        return {
            name: values for name, values in self.carried.items() if name != self.place and name not in self.skipped
        }


def passed_by_all(body: Body) -> Iterator[str]:
    """Yield the blocks that every thread passes that has not ended, in their order.

    In a kernel with barriers, that is also what is behind `if i >= n: return`: threads that have ended count as
    arrived at any barrier.
    """
    blocks = body.by_label
    meet = postdominators(blocks)
    stays = any(_calls(block) for block in body.blocks)
    label: str | None = body.blocks[0].label
    seen: set[str] = set()
    while label and label not in seen:
        seen.add(label)
        yield label
        label = (_behind_return(blocks, label, meet[label]) if stays else None) or meet[label]


def passed_as_often(body: Body, label: str, stays: Stays = tuple) -> bool:
    """Return whether threads that have not ended pass a block as often as others; all of them pass it at least once.

    Those that go round a loop around it do not, unless all leave that in the same turn.
    """
    blocks = body.by_label
    if label not in between(blocks, label, None):
        return True
    own = replace(body, blocks=without_exit_edges(stays(body.blocks)))
    return label not in divergent_blocks(own, uniform_values(own))


def _behind_return(blocks: Mapping[str, Block], label: str, meeting: str | None) -> str | None:
    """Return the other way of a branch by which threads may go straight to the kernel's end; None if it is not one."""
    ways = set(blocks[label].successors)
    if meeting not in ways or len(ways) != 2 or opcode(blocks[meeting].lines[-1]) != "ret" or _calls(blocks[meeting]):
        return None
    (other_way,) = ways - {meeting}
    return other_way


def _calls(block: Block) -> bool:
    """Return whether threads meet in a block, for a barrier or a warp operation."""
    return any(read_call(line) is not None for line in block.lines)


def strided_loop(body: Body, before: str, stays: Stays = tuple) -> StridedLoop | None:
    """Return the loop that begins after a block, if it can be interchanged. stays: leaves out failing edges."""
    real = body.by_label
    blocks = {block.label: block for block in stays(body.blocks)}
    if before not in blocks:  # it was the head of another loop
        return None
    lines = definitions_of(body.lines)
    end = blocks[before].end
    if not (end.target or end.condition) or not blocks[end.labels[0]].phis:
        return None
    head = blocks[end.labels[0]]
    pairs = {phi.result: {label: value for value, label in phi.arms} for phi in map(parse, head.phis)}
    sources = {label for label, block in blocks.items() if head.label in block.successors}
    if before not in sources or len(sources) != 2:
        return None
    (last,) = sources - {before}
    carried = {name: (values[before], values[last]) for name, values in pairs.items()}
    inside = _between(head.label, last, blocks)
    if inside is None or before in inside:
        return None
    if any(blocks[label].lines[-1] != real[label].lines[-1] for label in (before, head.label, last)):
        return None
    ends = {to for label in inside for to in real[label].successors if to not in blocks[label].successors}
    if any(ends.intersection(block.successors) for label, block in real.items() if label not in inside):
        return None
    blocks = {label: block for label, block in blocks.items() if label not in ends}
    found = (
        _tested(blocks, lines, before, head, last, carried)
        if end.target
        else _rotated(blocks, lines, before, head, last, carried)
    )
    if found is None:
        return None
    entered, after, place, predicate, (finish, widening), skipped = found
    start, following = carried[place]
    narrow = not (step := other(following, place, lines))
    parts = {"start": start, "step": step or other(following, place, lines, "i32"), "end": finish}
    if narrow:
        parts, widening = _widened(parts, head.label)
    lines |= definitions_of(widening)
    loop = StridedLoop(
        before=before,
        head=head.label,
        entered=entered,
        last=last,
        after=after,
        inside=frozenset(inside),
        carried=carried,
        place=place,
        narrow=narrow,
        start=parts["start"],
        step=parts["step"],
        predicate=predicate,
        end=parts["end"],
        widening=widening,
        skipped=frozenset(skipped),
        ends=frozenset(ends),
    )
    return loop if _is_right(loop, blocks, lines) else None


def _widened(parts: Mapping[str, str], head: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return where a loop starts, its step and its end as 64 bits, and the instructions that widen them."""
    how = {"start": "zext", "step": "zext", "end": "sext"}
    widening = tuple(f"{beside(head, word)} = {how[word]} i32 {one} to i64" for word, one in parts.items())
    return {word: beside(head, word) for word in parts}, widening


def _between(head: str, last: str, blocks: Mapping[str, Block]) -> set[str] | None:
    """Return the blocks of a loop: those from which last is reached without its head."""
    before: dict[str, list[str]] = {}
    for label, block in blocks.items():
        for target in block.successors:
            before.setdefault(target, []).append(label)
    return set(reached([head, last], lambda label: () if label == head else before.get(label, ())))


_Found = tuple[str, str, str, str, tuple[str, tuple[str, ...]], set[str]]


def _tested(
    blocks: Mapping[str, Block],
    lines: Mapping[str, str],
    before: str,
    head: Block,
    last: str,
    carried: Mapping[str, tuple[str, str]],
) -> _Found | None:
    """Return the parts of a loop whose condition is at the beginning of each iteration."""
    condition = head.end.condition
    if not condition or not blocks[last].end.target:
        return None
    entered, after = head.end.labels
    if (
        (found := compared(condition, lines)) is not None
        and found[0] in carried
        and other(carried[found[0]][1], found[0], lines)
    ):
        return entered, after, found[0], found[1], (found[2], ()), set()
    count = compared_with(condition, "sgt", "0", lines)
    if count is None or count.type not in ("i32", "i64") or count.value not in carried:
        return None
    kind, left = count.type, count.value
    for place, (start, following) in carried.items():
        step = other(following, place, lines, kind) if place != left else ""
        finish = end_of_range(blocks, before, head, left, start, step, lines, kind) if step else None
        if finish is not None:
            return entered, after, place, "slt", finish, {left, carried[left][1]}
    return None


def _rotated(
    blocks: Mapping[str, Block],
    lines: Mapping[str, str],
    before: str,
    head: Block,
    last: str,
    carried: Mapping[str, tuple[str, str]],
) -> _Found | None:
    """Return the parts of a rotated loop, whose condition is before it and at the end of each iteration."""
    enter, again = blocks[before].end, blocks[last].end
    after = enter.labels[-1]
    if not again.condition or again.labels != (head.label, after):
        return None
    first, more = compared(enter.condition, lines), compared(again.condition, lines)
    if first is None or more is None or first[1] != more[1] or affine(first[2], lines) != affine(more[2], lines):
        return None
    place = next((name for name, values in carried.items() if values == (first[0], more[0])), "")
    if not place or not other(more[0], place, lines):
        return None
    return head.label, after, place, first[1], (first[2], ()), set()


def _is_right(loop: StridedLoop, blocks: Mapping[str, Block], lines: Mapping[str, str]) -> bool:
    """Return whether all threads may take their turns together, and the values after the loop are those it carries."""
    exits = {(label, to) for label in loop.inside for to in blocks[label].successors if to not in loop.inside}
    # Barriers and warp operations depend on who else comes by.
    if any(_calls(blocks[label]) for label in loop.inside):
        return False
    if exits != {(loop.head if loop.entered != loop.head else loop.last, loop.after)}:
        return False
    start = loop.start
    step, end = made_of([loop.step], lines), made_of([loop.end], lines)
    if not is_non_negative(start, lines) or not is_short(loop.step, lines) or _SIZES.isdisjoint(step):
        return False
    inner = {name for label in loop.inside for line in blocks[label].lines if (name := defined(line))}
    for name in {*step, *end}:
        if name in THREADS or (name in lines and opcode(lines[name]) not in PURE):
            return False
    if not all(opcode(lines[name]) in PURE for name in made_of([start], lines) if name in lines):
        return False
    if any(defined(line) in loop.carried for name in (*step, *end) if (line := lines.get(name, ""))):
        return False
    outside = [block for label, block in blocks.items() if label not in loop.inside]
    lost = inner - set(loop.kept) - set(step) - set(end)
    for block in outside:
        for line in block.lines:
            if block.label == loop.after and opcode(line) == "phi":
                if joined(line, loop) is None:
                    return False
            elif not lost.isdisjoint(reads(line)):
                return False
    if loop.entered != loop.head:
        # Only what decides whether the loop goes on is between its head and its turns.
        rest = [line for line in blocks[loop.head].lines[:-1] if opcode(line) != "phi"]
        mine = {name for line in rest if (name := defined(line))} - set(step) - set(end)
        if any(opcode(line) not in PURE for line in rest) or _is_used(mine, loop, blocks):
            return False
    return True


def _is_used(names: Collection[str], loop: StridedLoop, blocks: Mapping[str, Block]) -> bool:
    """Return whether a turn's own blocks use values of the loop's head."""
    return any(
        not set(names).isdisjoint(reads(line)) for label in loop.inside - {loop.head} for line in blocks[label].lines
    )


def made_of(names: list[str], lines: Mapping[str, str]) -> list[str]:
    """Return names and all that they are made of, each after its operands."""
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
                stack += [(one, False) for one in reads(line) if one not in order]
    return list(order)


def joined(phi: str, loop: StridedLoop) -> str | None:
    """Return the phi of the block after a loop, with the ways out of it as one, or None if that is not possible."""
    made = parse(phi)
    left = {label: value for value, label in made.arms if label in (loop.before, loop.last, loop.head)}
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
    return str(made.with_arms([*(arm for arm in made.arms if arm[1] not in left), (value, new_head(loop))]))


def _is_of(value: str, loop: StridedLoop) -> bool:
    return value in loop.carried or any(value in values[1:] for values in loop.carried.values())


def new_head(loop: StridedLoop) -> str:
    """Return the label of the block in which all threads ask whether there is another turn."""
    return beside(loop.head, "together")
