"""Ways: how many ways lead on from a value, through its users, theirs, and the loads of memory that it is stored in.

LLVM unrolls loops, so a value that goes round a loop is used once more in each iteration. In a plain ring, there are as
many ways as iterations. If a ring has a second way in it, each iteration doubles the ways, and there is no bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.vectorizer_lines import BOX, CELL, LoopValue

# More turns than LLVM unrolls of a loop: it adds up to about 1,200 instructions.
_TURNS = 2**11
# A called function may be inlined, and may use its arguments more than once.
_USES_IN_CALL = 4
_UNBOUNDED = 2**63
# Before the names of memories, which no value's name begins with.
_MEMORY = "memory "


def users_of(lines: Sequence[LoopValue]) -> dict[str, list[str]]:
    """Return the values that each value is an operand of, once for each time."""
    users: dict[str, list[str]] = {}
    for line in lines:
        for used in line.used if line.name else ():
            users.setdefault(used, []).extend([line.name] * (_USES_IN_CALL if line.operation == "call" else 1))
    return users


def with_memory(
    lines: Sequence[LoopValue], origins: Mapping[str, str], after: Sequence[Sequence[int]]
) -> dict[str, list[str]]:
    """Return those users, and those through memory: later loads of a place where a value may have been stored.

    LLVM knows what a load returns only if that was stored through a pointer with the same origin. after: where each
    block leads.
    """
    users = users_of(lines)
    loads: dict[str, list[tuple[int, LoopValue]]] = {}
    for place, line in enumerate(lines):
        if line.operation == "load":
            loads.setdefault(_memory(line, origins), []).append((place, line))
    found: dict[str, Mapping[int, list[tuple[int, str]]]] = {}
    for place, line in enumerate(lines):
        if line.operation == "store":
            memory = _memory(line, origins)
            if memory not in found:
                found[memory] = _by_block(one for of in loads if _may_be(memory, of) for one in loads[of])
            beyond = f"{memory}@{line.block}"
            if beyond not in users:
                blocks = sorted(reached(after[line.block], after.__getitem__))
                users[beyond] = [name for block in blocks for _, name in found[memory].get(block, ())]
            here = [name for at, name in found[memory].get(line.block, ()) if at > place]
            users.setdefault(line.value, []).extend([beyond, *here])
    return users


def _by_block(loads: Iterable[tuple[int, LoopValue]]) -> dict[int, list[tuple[int, str]]]:
    """Return the positions and names of some loads, by the block that they are in."""
    found: dict[int, list[tuple[int, str]]] = {}
    for place, line in loads:
        found.setdefault(line.block, []).append((place, line.name))
    return found


def is_memory(name: str) -> bool:
    """Return whether a user is a memory, not a value."""
    return name.startswith(_MEMORY)


def most_ways(users: Mapping[str, list[str]], among: Collection[str]) -> int:
    """Return how many ways lead from the value that has the most, through users and users of users."""
    graph = {name: [user for user in users.get(name, ()) if user in among] for name in among}
    turns = dict.fromkeys(graph, 1)
    while ring := _ring(graph):
        ways_on = sum(user in ring for name in ring for user in graph[name])
        if ways_on > len(ring) or any(turns[name] > 1 for name in ring):
            return _UNBOUNDED
        _close(ring, graph, turns)
    ways: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        ways[name] = turns[name] * (1 + sum(ways[user] for user in graph[name]))
    return max(ways.values(), default=0)


def _ring(graph: Mapping[str, list[str]]) -> frozenset[str]:
    """Return values each of which is made of the one before, and the first of the last; none without such a ring."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return frozenset(error.args[1])
    return frozenset()


def _close(ring: Collection[str], graph: dict[str, list[str]], turns: dict[str, int]) -> None:
    """Put one value in the place of a ring's values."""
    one = min(ring)
    graph[one] = [user for name in ring for user in graph[name] if user not in ring]
    turns[one] = _TURNS
    for name in set(ring) - {one}:
        del graph[name], turns[name]
    for name, users in graph.items():
        graph[name] = [one if user in ring else user for user in users]


def _memory(line: LoopValue, origins: Mapping[str, str]) -> str:
    own = BOX in line.memory or CELL in line.memory
    return _MEMORY + (line.memory if own else origins.get(line.at, ""))


def _may_be(one: str, other: str) -> bool:
    own = any(kind in memory for kind in (BOX, CELL) for memory in (one, other))
    return one == other or (_MEMORY in (one, other) and not own)
