"""Roots: whether a kernel's code has a value from which LLVM's vectorizer could take a chain of uniform values.

LLVM moves values that are the same in all iterations of a loop out of the loop, except *roots* and what is made of
them. A root may change or must not run early: a load, a call, an atomic, a division. Without a root there is no chain.
What is made of a root is followed, also round loops and through memory, until it meets a value that varies from
iteration to iteration. If a branch depends on it, how it continues is not known. In doubt the answer is yes, which
costs compile time and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.vectorizer_lines import (
    BOX,
    CELL,
    COPY,
    MAY_VANISH,
    LoopValue,
    origins,
    read,
)
from gridjit.compiler.targets.host.analysis.vectorizer_ways import is_memory, most_ways, users_of, with_memory
from gridjit.compiler.targets.host.ir.body import Block

_OPAQUE = frozenset(("alloca", "extractvalue", "insertvalue", "freeze"))
_DECIDES = frozenset(("br", "switch", "ret"))
# The threads that one loop runs differ in these.
_THREAD = ("%gj.tid.x", "%gj.thread")
# And so do threads at the same place of different rows.
_ROW = ("%gj.thread",)


def may_have_chain(blocks: Sequence[Block], most: int) -> bool:
    """Return whether a chain with more than `most` ways may begin in a region, or in one of its loops."""
    lines = [[read(number, line) for line in block.lines] for number, block in enumerate(blocks)]
    places = {block.label: number for number, block in enumerate(blocks)}
    after = [[places[target] for target in block.successors] for block in blocks]
    every = [line for block in lines for line in block]
    pointers = origins(every)
    same = _maybe_same(every, _THREAD, after)
    if _in_doubt(every, _THREAD, same, after, pointers, most) or (
        _tells_which(every, _THREAD, same, bounds=True)
        and _in_doubt(every, _ROW, _maybe_same(every, _ROW, after), after, pointers, most)
    ):
        return True
    for head, inside in _loops(after):
        turns = [line.name for line in lines[head] if line.operation == "phi"]
        loop = [line for number in inside for line in lines[number]]
        same = _maybe_same(loop, turns, after)
        if _in_doubt(loop, turns, same, after, pointers, most) or (
            _tells_which(loop, turns, same) and _in_doubt(loop, (), _maybe_same(loop, (), after), after, pointers, most)
        ):
            return True
    return False


def _tells_which(
    lines: Sequence[LoopValue], turns: Collection[str], same: Collection[str], *, bounds: bool = False
) -> bool:
    """Return whether a condition may leave only one iteration, in which a value that varies has one value.

    same: the values that may be the same in all iterations. bounds: whether two numbers that a value lies between
    count.
    """
    asking = [line for line in lines if line.equal or (bounds and line.bound)]
    if not asking:
        return False
    mine = {line.name for line in lines} | set(turns)
    return any(used in mine and used not in same for line in asking for used in line.used)


def _loops(after: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[int]]]:
    """Yield each loop: its first block, and all blocks on the ways back to it."""
    before: list[list[int]] = [[] for _ in after]
    for number, targets in enumerate(after):
        for target in targets:
            before[target].append(number)
    for head, sources in enumerate(before):
        if back := [number for number in sources if number >= head]:
            ahead = reached([head], after.__getitem__).keys()
            if latches := ahead & set(back):
                yield head, sorted(_inside(head, latches, before) & ahead)


def _inside(head: int, latches: Iterable[int], before: Sequence[Sequence[int]]) -> AbstractSet[int]:
    """Return the blocks from which a loop's latches are reached without its head, and the head."""
    return reached([head, *latches], lambda number: () if number == head else before[number]).keys()


def _in_doubt(
    lines: Sequence[LoopValue],
    turns: Collection[str],
    same: set[str],
    after: Sequence[Sequence[int]],
    pointers: Mapping[str, str],
    most: int,
) -> bool:
    """Return whether a loop of these lines may have such a chain; turns: what differs from iteration to iteration.

    same: the values that may be the same in all iterations. after: where each block of the region leads. pointers: what
    each pointer was made from.
    """
    mine = {line.name for line in lines} | set(turns)
    roots = {line.name for line in lines if line.root and line.name in same and _from_one_place(line, mine, same)}
    if not roots:
        return False
    users = with_memory(lines, pointers, after)
    made = _spread(users, roots, same | set(filter(is_memory, users)))
    if any(line.operation in _DECIDES and not made.isdisjoint(line.used) for line in lines):
        return True
    if any(line.operation == COPY for line in lines) and any(map(is_memory, made)):
        return True
    return most_ways(users, made) > most


def _from_one_place(line: LoopValue, mine: Collection[str], same: Collection[str]) -> bool:
    """Return whether a root is not a load from many places, which have nothing in common but the stored value."""
    return line.operation != "load" or line.at in same or line.at not in mine


def _maybe_same(lines: Sequence[LoopValue], turns: Collection[str], after: Sequence[Sequence[int]]) -> set[str]:
    """Return the values of lines that may be the same in all iterations once LLVM has simplified the loop."""
    mine = {line.name for line in lines if line.name} | set(turns)
    counted = _spread(users_of(lines), {line.name for line in lines if line.operation == "phi"}, mine)
    written = {line.memory for line in lines if line.operation == "store"}
    same: set[str] = set()
    # Memories in which something is stored that may be the same, with the blocks in which it may be read.
    stored: set[tuple[str, int]] = set()
    before = -1
    while before != len(same) + len(stored):
        before = len(same) + len(stored)
        known = same | {""}
        for line in lines:
            if line.name in turns or line.name in same:
                continue
            if line.operation == "store":
                if (line.memory, line.block) not in stored and (line.value in known or line.value not in mine):
                    stored |= {(line.memory, block) for block in reached([line.block], after.__getitem__)}
            elif line.name and _is_same(line, mine, same, counted, stored, written):
                same.add(line.name)
    return same


def _is_same(
    line: LoopValue,
    mine: set[str],
    same: set[str],
    counted: set[str],
    stored: set[tuple[str, int]],
    written: set[str],
) -> bool:
    """Return whether a value may be the same in all iterations, if those of same may be."""
    if line.operation in _OPAQUE:
        return True
    if line.chosen is not None:
        return any(value in same or value not in mine for value in line.chosen)
    if line.operation == "load":
        return _is_loaded_same(line, mine, same, stored, written)
    if line.operation in MAY_VANISH and any(used in same and used in counted for used in line.used):
        return True
    return all(used in same or used not in mine for used in line.used)


def _is_loaded_same(
    line: LoopValue, mine: set[str], same: set[str], stored: set[tuple[str, int]], written: set[str]
) -> bool:
    if (line.memory, line.block) in stored:
        return True
    if CELL in line.memory:
        return False
    if BOX in line.memory:
        return line.memory not in written
    return _from_one_place(line, mine, same)


def _spread(users: Mapping[str, Iterable[str]], names: set[str], within: Collection[str]) -> set[str]:
    """Return names, and all of `within` that is made of them."""
    return set(reached(names, lambda name: (user for user in users.get(name, ()) if user in within)))
