"""Sinking: the code of peeled threads (`if tx == 0`), run after their row rather than in the midst of it.

A loop over a row that leaves out the first and the last thread does not fill whole vectors: of 32 threads it runs 30.
So the loop runs all threads as if none were peeled. Another function, made of the same blocks, then does for each rare
thread what was left out, and computes again what that needs. This is allowed where no thread can tell the difference:
a peeled thread rejoins the others, hands them no value, and only loads and stores memory that no thread uses from there
to the next barrier. Values are computed again only from memory to which the region does not store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.barriers import arrival, passage
from gridjit.compiler.targets.host.analysis.pointers import BLOCK, CONSTANT, Argument, Root, Roots
from gridjit.compiler.targets.host.analysis.postdominators import between, postdominators
from gridjit.compiler.targets.host.ir.accesses import Access, accesses
from gridjit.compiler.targets.host.ir.body import (
    Block,
    arms,
    defined,
    definitions_of,
    lines_of,
    opcode,
    reads,
)
from gridjit.compiler.targets.host.ir.opcodes import EARLY, is_operation
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.peeled_distances import Distances
from gridjit.compiler.targets.host.passes.peeling import RARE, Stop
from gridjit.compiler.targets.host.passes.region_text import RegionWriter, names_made, names_used
from gridjit.compiler.targets.host.passes.shared_atomics import OWN

_ENDS = "ret i32 0"
_JOINTS = frozenset(("and", "or", "xor", "select"))
_ASSUMES = "llvm.assume"
# They have no effects, but must not be executed where the thread would not have come to them.
_DIVIDES = frozenset(("sdiv", "udiv", "srem", "urem"))
_COMPUTES = EARLY | _DIVIDES | {"frem", "extractvalue", "insertvalue", "extractelement", "insertelement", "phi"}
_ENDS_BLOCKS = frozenset(("br", "switch", "ret"))


def sunk_name(number: int) -> str:
    """Return the name of the function of a region's peeled threads."""
    return f"gridjit.late.{number}"


def sunk(
    blocks: Mapping[str, Block],
    start: str,
    again: Mapping[str, str],
    kept: Collection[str],
    changing: Collection[str],
    distances: Distances,
) -> dict[str, Block] | None:
    """Return a region reduced to the code of its peeled threads; start: the block that it begins with.

    None if these may not be executed after the row, or there are none. again: the values that the region computes
    again. kept: those that regions hand on. changing: those that the region was left by an earlier one, and hands on
    changed. distances: what is known of places in shared memory.
    """
    found = _Postponed({label: _ended(block) for label, block in blocks.items()}, start, again, distances)
    if not found.alone or not found.rejoins(kept) or not found.is_unseen():
        return None
    needed = found.needed()
    return None if needed is None or needed & set(changing) else found.written(needed)


def _ended(block: Block) -> Block:
    """Return a block that returns where it ends its region."""
    ends = arrival(block.lines[-1]) is not None or passage(block.lines[-1]) is not None
    return replace(block, lines=(*block.lines[:-1], _ENDS)) if ends else block


class _Postponed:
    """A region and its properties. alone: the blocks that only peeled threads come to."""

    def __init__(
        self,
        blocks: Mapping[str, Block],
        start: str,
        again: Mapping[str, str],
        distances: Distances,
    ) -> None:
        self.blocks, self.start, self.again = blocks, start, again
        own = definitions_of(lines_of(blocks.values()))
        self.lines = {**again, **own}
        self.rare = self._depending({RARE})
        self.usual = reached([start], self._usually).keys()
        self.alone = blocks.keys() - self.usual
        ways = {label: block.successors for label, block in blocks.items()}
        self.after = {label: reached(ways[label], ways.__getitem__).keys() for label in blocks}
        self.roots = Roots(definitions=self.lines, offsets={}, arrays=frozenset())
        self.distances = distances

    def _depending(self, names: set[str]) -> set[str]:
        """Return the values that are made of these."""
        found = set(names)
        while more := {name for name, line in self.lines.items() if reads(line) & found} - found:
            found |= more
        return found

    def _usually(self, label: str) -> tuple[str, ...]:
        """Return the blocks to which a block leads threads that are not rare."""
        branch = self.blocks[label].end
        if not branch.condition or (holds := self._holds(branch.condition)) is None:
            return self.blocks[label].successors
        return (branch.labels[0 if holds else 1],)

    def _holds(self, condition: str) -> bool | None:
        """Return whether a condition holds for threads that are not rare; None if it may hold or not."""
        if condition in (RARE, "true", "false"):
            return condition == "true"
        joint = parse(self.lines.get(condition, ""))
        if condition not in self.rare or joint.opcode not in _JOINTS or joint.kind != "i1" or joint.flags:
            return None
        return _joined(joint.opcode, [self._holds(part) for part in joint.values])

    def rejoins(self, kept: Collection[str]) -> bool:
        """Return whether peeled threads then go on as the others do, with the same values."""
        meet = postdominators(self.blocks)
        branches = [label for label in self.usual if reads(self.blocks[label].lines[-1]) & self.rare]
        told = set(self.rare)
        for label in branches:
            parted = between(self.blocks, label, meet[label])
            before = parted - {meet[label]}
            if not all(self._is_idle(self.blocks[one]) for one in before & self.usual):
                return False
            told |= {phi for one in parted for phi in self._parting(one, {*before, label})}
        told = self._depending(told)
        return not told & set(kept) and all(
            self._tells_nothing(line, told) for label in self.usual for line in self.blocks[label].lines
        )

    def _is_idle(self, block: Block) -> bool:
        """Return whether a thread may execute a block to which it would not have come."""
        return all(opcode(line) in EARLY | {"phi", "br"} for line in block.lines)

    def _parting(self, label: str, before: Collection[str]) -> Iterator[str]:
        """Yield the values in a block that depend on which of these blocks a thread came from."""
        for phi in self.blocks[label].phis:
            if len({value for value, predecessor in arms(phi) if predecessor in before}) > 1:
                yield defined(phi) or ""

    def _tells_nothing(self, line: str, told: Collection[str]) -> bool:
        """Return whether an instruction lets nothing outside see values that differ for peeled threads."""
        if not reads(line).intersection(told):
            return True
        if condition := parse(line).condition:
            return self._holds(condition) is not None
        return opcode(line) in EARLY | {"phi"}

    def is_unseen(self) -> bool:
        """Return whether peeled threads only load and store memory that no thread uses after they rejoin the others."""
        for label in self.alone:
            block = self.blocks[label]
            if not all(map(self._is_plain, block.lines)):
                return False
            mine = [access for line in block.lines for access in _accesses(line)]
            for line in (line for other in self.after[label] - self.alone for line in self.blocks[other].lines):
                if _is_noticed(line) or any(self._is_met(one, other) for one in mine for other in _accesses(line)):
                    return False
        return True

    def _is_met(self, mine: Access, other: Access) -> bool:
        """Return whether another access of a thread may conflict with a peeled thread's."""
        return self._meet(mine, other) and not self.distances.are_apart(mine, other)

    def _is_plain(self, line: str) -> bool:
        """Return whether an instruction computes, goes on, or loads or stores memory that is known."""
        kind = opcode(line)
        if kind in ("load", "store"):
            known = all(self._memory(access) is not None for access in _accesses(line))
            return known and OWN not in line and not _is_noticed(line)
        return kind != "ret" and not _is_noticed(line)

    def _meet(self, one: Access, other: Access) -> bool:
        """Return whether two accesses may touch the same memory, and at least one of them writes."""
        if one.kind == other.kind == "read":
            return False
        mine, its = self._memory(one), self._memory(other)
        return mine is None or its is None or bool(mine & its)

    def _memory(self, access: Access) -> frozenset[str] | None:
        """Return the kinds of memory that an access may touch; None if they are not known. Arrays may overlap."""
        roots = self.roots.of(access.at)
        return frozenset(map(_kind, roots)) if roots and all(map(_kind, roots)) else None

    def needed(self) -> set[str] | None:
        """Return the values that the blocks of peeled threads need; None if some cannot be computed again."""
        stores = [
            one
            for block in self.blocks.values()
            for line in block.lines
            for one in _accesses(line)
            if one.kind != "read"
        ]
        ways = [label for label in self.usual if self.after[label] & self.alone]
        ends = [self.blocks[label].lines[-1] for label in ways]
        inside = {line for label in self.alone for line in self.blocks[label].lines}
        seen, waiting = set[str](), [name for line in (*ends, *inside) for name in reads(line)]
        while waiting:
            if (name := waiting.pop()) in seen:
                continue
            seen.add(name)
            line = self.lines.get(name, "")
            if line and line not in inside and not self._is_same_again(line, stores):
                return None
            waiting += reads(line)
        return seen

    def _is_same_again(self, line: str, stores: Collection[Access]) -> bool:
        """Return whether an instruction gives the same result when it is executed again after the row."""
        if opcode(line) == "load":
            return self._is_plain(line) and not any(
                self._meet(one, other) for one in _accesses(line) for other in stores
            )
        return _computes(line)

    def written(self, needed: Collection[str]) -> dict[str, Block]:
        """Return the blocks of peeled threads, and the ways to them through other blocks, with the values they need."""
        made: dict[str, Block] = {}
        for label, block in self.blocks.items():
            if label in self.alone:
                made[label] = block
            elif self.after[label] & self.alone:
                kept = (line for line in block.lines[:-1] if defined(line) in needed)
                made[label] = replace(block, lines=(*kept, block.lines[-1]))
            else:
                made[label] = replace(block, lines=(_ENDS,))
        return made


def _joined(operation: str, parts: list[bool | None]) -> bool | None:
    """Return the result of `and`, `or` or the like for conditions of which only some are known."""
    if operation == "select":
        chosen, first, second = parts
        if chosen is not None:
            return first if chosen else second
        return first if first == second else None
    if operation == "xor":
        return None if None in parts else parts[0] != parts[1]
    decides = operation == "or"
    if decides in parts:
        return decides
    return None if None in parts else not decides


def _kind(root: Root) -> str:
    """Return the kind of memory that a root points to; "" if it is not known, or is a thread's own."""
    if isinstance(root, Argument):
        return "argument"
    return root if root in (BLOCK, CONSTANT) else ""


def _accesses(line: str) -> list[Access]:
    """Return an instruction's accesses; a write of any memory, if they are not known."""
    found = accesses(line)
    return found if found or _computes(line) or opcode(line) in _ENDS_BLOCKS else [Access(kind="write", at="", size="")]


def _is_noticed(line: str) -> bool:
    """Return whether an instruction may do more than compute, or access memory that other threads may poll."""
    one = parse(line)
    if one.opcode in ("load", "store"):
        return not one.known or one.is_volatile or one.is_atomic
    return not _computes(line) and opcode(line) not in _ENDS_BLOCKS


def _computes(line: str) -> bool:
    """Return whether an instruction only computes a value, or tells LLVM a fact."""
    return opcode(line) in _COMPUTES or parse(line).callee_name == _ASSUMES or is_operation(line)


def sunk_text(writer: RegionWriter, axis: str, stops: Sequence[Stop]) -> str:
    """Return the function of peeled threads for the region of a writer; "" if they must run in the midst of the row.

    axis: that of a row. stops: where along it they are.
    """
    whole, number = writer.whole, writer.number
    left = whole.live[number] & writer.makes() & whole.slots.keys()
    changing = {name for name in left if not whole.slots[name].uniform}
    # What other regions made may differ from thread to thread, too.
    lines = definitions_of(lines_of(whole.blocks.values()))
    distances = Distances(lines, axis, stops)
    found = sunk(writer.values().blocks, whole.starts[number], whole.again, whole.slots, changing, distances)
    if found is None:
        return ""
    made, read = names_made(found), names_used(found)
    mentioned = {label: made[label] | read[label] for label in found}
    alone = replace(whole, blocks=found, made=made, mentioned=mentioned)
    return RegionWriter(whole=alone, number=number).text(sunk_name(number))
