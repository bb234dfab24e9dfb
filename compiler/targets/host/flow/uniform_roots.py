"""uniform_roots: whether a kernel's code has what LLVM's vectorizer could take a chain of uniform values from.

LLVM moves what is the same in all turns of a loop out of it, unless it is, or is made of, something that may change or
must not run early: a load, a call, an atomic, a division. Without such a *root* there is no chain. What is made of a
root is followed until it meets a value that varies from turn to turn. If it goes round a loop, decides where to go or
is stored, its further ways are not known. In doubt the answer is yes, which costs compile time and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from gridjit.compiler.targets.host.regions.body import arms
from gridjit.compiler.targets.host.regions.operations import is_operation

_NAME = re.compile(r'%(?:"[^"]+"|[-\w.$]+)')
_LABEL = re.compile(r'label %("[^"]+"|[-\w.$]+)')
_INSTRUCTION = re.compile(r"\s*(?:(%\S+) = )?(?:(?:tail|musttail|notail) )?(\w+)(.*)", re.DOTALL)
_STORE = re.compile(r" (?:volatile |atomic )*(?P<type>.+) (?P<value>\S+), ptr (?P<at>[^,\s]+)")
_LOAD = re.compile(r" (?:volatile |atomic )*(?P<type>.+?), ptr (?P<at>[^,\s]+)")
_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))
_ROOTS = frozenset(("load", "call", "atomicrmw", "cmpxchg")) | _DIVISIONS
# With 0 as one operand, they are 0 whatever the other is.
_MAY_VANISH = frozenset(("mul", "and", "shl", "lshr", "ashr")) | _DIVISIONS
_OPAQUE = frozenset(("alloca", "extractvalue", "insertvalue", "freeze"))
_ENDS = frozenset(("phi", "br", "switch", "store", "ret"))
# The threads of one loop differ in these.
_THREAD = ("%gj.tid.x", "%gj.thread")
# Where a region keeps a value that crosses barriers, and each thread's own memory that it comes from.
_BOX, _CELL = "gj.box.", "gj.cell."


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction: its block, result, operation, what it reads, and of a load or store the memory that it means.

    chosen: what the result may be a copy of; None if it is computed. A constant is "".
    """

    block: int
    name: str
    operation: str
    used: tuple[str, ...]
    chosen: tuple[str, ...] | None = None
    value: str = ""
    at: str = ""
    memory: str = ""
    root: bool = False


def may_have_chain(blocks: Sequence[tuple[str, list[str]]], most: int) -> bool:
    """Return whether a chain with more than so many ways may begin in a region, or in one of its loops.

    blocks: the region's, by name, with their instructions.
    """
    lines = [[_read(number, line) for line in body] for number, (_, body) in enumerate(blocks)]
    places = {name: number for number, (name, _) in enumerate(blocks)}
    after = [[places[target] for target in _LABEL.findall(body[-1] if body else "")] for _, body in blocks]
    if _in_doubt([line for block in lines for line in block], _THREAD, after, most):
        return True
    for head, inside in _loops(after):
        turns = [line.name for line in lines[head] if line.operation == "phi"]
        if _in_doubt([line for number in inside for line in lines[number]], turns, after, most):
            return True
    return False


def _read(block: int, text: str) -> Line:
    found = _INSTRUCTION.match(text.partition(", !")[0])
    if found is None:
        return Line(block, "", "br", ())
    name, operation, rest = found[1] or "", found[2], found[3]
    used = tuple(_NAME.findall(_LABEL.sub("", rest)))
    root = operation in _ROOTS and not (operation == "call" and is_operation(text))
    root &= operation not in _DIVISIONS or bool(_named(rest.split()[-1]))
    if operation == "phi":
        values = tuple(_named(value) for value, _ in arms(text))
        return Line(block, name, operation, tuple(filter(None, values)), values)
    if operation == "select":
        return Line(block, name, operation, used, tuple(_named(part.split()[-1]) for part in rest.split(", ")[-2:]))
    if memory := {"store": _STORE, "load": _LOAD}.get(operation):
        return _access(Line(block, name, operation, used, root=root), memory.match(rest))
    return Line(block, name, operation, used, root=root)


def _access(line: Line, found: re.Match[str] | None) -> Line:
    """Return a load or store with the memory that it means: a box, a cell, or all that holds values of its type."""
    if found is None:
        return line
    at, value = found["at"], _named(found.groupdict().get("value", ""))
    own = next((at for kind in (_BOX, _CELL) if at.lstrip('%"').startswith(kind)), "")
    root = line.root and not own
    return Line(line.block, line.name, line.operation, line.used, None, value, _named(at), own or found["type"], root)


def _named(value: str) -> str:
    return value if value.startswith("%") else ""


def _loops(after: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[int]]]:
    """Yield each loop: its first block, and all that lie between it and a way back to it."""
    before: list[list[int]] = [[] for _ in after]
    for number, targets in enumerate(after):
        for target in targets:
            before[target].append(number)
    for head, sources in enumerate(before):
        if back := [number for number in sources if number >= head]:
            ahead = _reached([head], after)
            if not ahead.isdisjoint(back):
                yield head, sorted({head, *(_reached(ahead.intersection(back), before, without=head) & ahead)})


def _reached(starts: Iterable[int], edges: Sequence[Sequence[int]], without: int = -1) -> set[int]:
    """Return starts and the blocks that edges lead to from them, without going through one block."""
    waiting = [number for number in starts if number != without]
    found = set(waiting)
    while waiting:
        for number in edges[waiting.pop()]:
            if number not in found and number != without:
                found.add(number)
                waiting.append(number)
    return found


def _in_doubt(lines: Sequence[Line], turns: Collection[str], after: Sequence[Sequence[int]], most: int) -> bool:
    """Return whether a loop of these lines may have such a chain; turns: what differs from turn to turn.

    after: where each block of the region leads.
    """
    same = _maybe_same(lines, turns, after)
    mine = {line.name for line in lines} | set(turns)
    roots = {line.name for line in lines if line.root and line.name in same and _from_one_place(line, mine, same)}
    made = _spread(lines, roots, same)
    if any(line.operation in _ENDS and not made.isdisjoint(line.used) for line in lines):
        return True
    users: dict[str, list[str]] = {name: [] for name in made}
    for line in lines:
        if line.name in made:
            for used in line.used:
                if used in made:
                    users[used].append(line.name)
    return _most_ways(users) > most


def _from_one_place(line: Line, mine: Collection[str], same: Collection[str]) -> bool:
    """Return whether a root is not a load from many places: what that has in common is what was stored there."""
    return line.operation != "load" or line.at in same or line.at not in mine


def _most_ways(users: Mapping[str, list[str]]) -> int:
    """Return how many ways lead from the value that has the most, through users and users of users."""
    ways: dict[str, int] = {}
    try:
        for name in TopologicalSorter(users).static_order():
            ways[name] = 1 + sum(ways[user] for user in users[name])
    except CycleError:
        return 2**63
    return max(ways.values(), default=0)


def _maybe_same(lines: Sequence[Line], turns: Collection[str], after: Sequence[Sequence[int]]) -> set[str]:
    """Return the values of lines that may be the same in all turns once LLVM has simplified the loop."""
    mine = {line.name for line in lines if line.name} | set(turns)
    counted = _spread(lines, {line.name for line in lines if line.operation == "phi"}, mine)
    written = {line.memory for line in lines if line.operation == "store"}
    same: set[str] = set()
    # The memories in which something that may be the same is stored, with each block that it may be read in.
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
                    stored |= {(line.memory, block) for block in _reached([line.block], after)}
            elif line.name and _is_same(line, mine, same, counted, stored, written):
                same.add(line.name)
    return same


def _is_same(
    line: Line, mine: set[str], same: set[str], counted: set[str], stored: set[tuple[str, int]], written: set[str]
) -> bool:
    """Return whether a value may be the same in all turns, if those of same may be."""
    if line.operation in _OPAQUE:
        return True
    if line.chosen is not None:
        return any(value in same or value not in mine for value in line.chosen)
    if line.operation == "load":
        return _is_loaded_same(line, mine, same, stored, written)
    if line.operation in _MAY_VANISH and any(used in same and used in counted for used in line.used):
        return True
    return all(used in same or used not in mine for used in line.used)


def _is_loaded_same(
    line: Line, mine: set[str], same: set[str], stored: set[tuple[str, int]], written: set[str]
) -> bool:
    if (line.memory, line.block) in stored:
        return True
    if _CELL in line.memory:
        return False
    if _BOX in line.memory:
        return line.memory not in written
    return _from_one_place(line, mine, same)


def _spread(lines: Iterable[Line], names: set[str], within: Collection[str]) -> set[str]:
    """Return names and all values of within that are made of them."""
    users: dict[str, list[str]] = {}
    for line in lines:
        for used in line.used if line.name in within else ():
            users.setdefault(used, []).append(line.name)
    found, waiting = set(names), list(names)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found.add(user)
                waiting.append(user)
    return found
