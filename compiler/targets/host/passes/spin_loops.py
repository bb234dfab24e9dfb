"""Spin loops: the loops in which a thread polls memory written by other threads; each turn ends with a cut.

A loop waits if it can be left because of what it read from memory that others write: by an atomic operation that need
not change anything, by a volatile load, by a load from one place beside a fence or a nap, or, in a block that meets at
barriers, through memory that a thread fills with what it read in one of these ways. So does one that changes nothing,
and whose end nothing decides but loads from one place each: by itself it ends at once or never. Loops that retry an
exchange with what they found there do not wait: one of the threads gets on. A thread that comes to the end of a turn
lets all others of the grid run before the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.analysis.barriers import is_cut
from gridjit.compiler.targets.host.analysis.loops import Loop, loops
from gridjit.compiler.targets.host.ir.body import (
    Block,
    Body,
    arms,
    defined,
    definitions_of,
    lines_of,
    opcode,
    reads,
)
from gridjit.compiler.targets.host.ir.intrinsics import LINEAR_THREAD, OURS, SHARED_ARRAY, SREG, TURN
from gridjit.compiler.targets.host.ir.opcodes import is_operation
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.source_locations import SourceLocation, location_of, without_location

# What counts up or down changes memory each time, so whoever does it gets on; but sums may be with zero.
_COUNTS, _SUMS = frozenset(("uinc_wrap", "udec_wrap")), frozenset(("add", "sub", "fadd", "fsub"))
_ZEROS = frozenset(("0", "0.000000e+00", "-0.000000e+00", "0xH0000", "0xH8000", "null", "zeroinitializer"))
_VARYING = frozenset(("phi", "load", "atomicrmw", "cmpxchg", "call"))
# Where a thread is, and where shared arrays are.
_PLACES = (*(f"{OURS}{SREG}{word}." for word in ("tid", "ntid", "ctaid", "nctaid")), SHARED_ARRAY, LINEAR_THREAD)
_CHANGES = frozenset(("store", "call", "invoke", "atomicrmw", "cmpxchg"))
_MEMORY = frozenset(("load", "atomicrmw", "cmpxchg"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpinCuts:
    """A body with a cut at the end of each turn of each spin loop, and the locations of the reads that wait there."""

    body: Body
    locations: tuple[SourceLocation | None, ...]


def with_spin_cuts(body: Body) -> SpinCuts:
    """Return body with its turns cut."""
    if not _may_wait(body):
        return SpinCuts(body=body, locations=())
    marked = body.by_label
    blocks = {label: _unmarked(block) for label, block in marked.items()}
    found = [(loop, polls) for loop in loops(blocks) if (polls := _Reading(blocks, loop).waits_for())]
    edges = [(latch, loop.head, polls) for loop, polls in found for latch in loop.latches]
    for number, (latch, head, _) in enumerate(edges):
        blocks = _with_turn(blocks, latch, head, f"%gj.turn.{number}")
    locations = tuple(_location(marked, polls, body.rest) for _, _, polls in edges)
    return SpinCuts(body=replace(body, blocks=tuple(blocks.values())), locations=locations)


def _may_wait(body: Body) -> bool:
    """Return whether body may have a spin loop: it has polling instructions, or a loop that does nothing."""
    if any(opcode(line) == "fence" or _polls(line) for line in body.lines):
        return True
    blocks = body.by_label
    return any(not _Reading(blocks, loop).changes() for loop in loops(blocks))


def _unmarked(block: Block) -> Block:
    return replace(block, lines=tuple(map(without_location, block.lines)))


def _location(blocks: Mapping[str, Block], polls: Collection[str], rest: str) -> SourceLocation | None:
    """Return the location of the first of some instructions that has one."""
    lines = (line for line in lines_of(blocks.values()) if defined(line) in polls)
    return next((location for line in lines if (location := location_of(line, rest)) is not None), None)


def _with_turn(blocks: Mapping[str, Block], latch: str, head: str, label: str) -> dict[str, Block]:
    """Return blocks with one between latch and head, which ends a turn."""
    *lines, last = blocks[latch].lines
    turned = str(parse(last).with_labels({head: label}))
    changed = {
        latch: replace(blocks[latch], lines=(*lines, turned)),
        label: Block(label=label, lines=(f"call void @{TURN}()", f"br label {head}")),
        head: _coming_from(
            blocks[head] if head != latch else replace(blocks[latch], lines=(*lines, turned)), latch, label
        ),
    }
    return {**blocks, **changed}


def _coming_from(block: Block, before: str, after: str) -> Block:
    """Return block with its phis naming after, once, where they named before, as often as a switch led here."""

    def renamed(phi: str) -> str:
        pairs = ((value, after if label == before else label) for value, label in arms(phi))
        return str(parse(phi).with_arms(dict.fromkeys(pairs)))

    lines = (renamed(line) if opcode(line) == "phi" else line for line in block.lines)
    return replace(block, lines=tuple(lines))


def _is_known(line: str) -> bool:
    """Return whether an instruction is a call that gives a thread the same whenever it asks."""
    return is_operation(line) or parse(line).callee_name.startswith(_PLACES)


def _polls(line: str) -> bool:
    """Return whether an instruction reads memory that other threads may write meanwhile."""
    if opcode(line) not in _MEMORY:
        return False
    one = parse(line)
    return one.is_atomic or one.is_volatile or not one.known


class _Reading:
    """The reads of a loop, and whether they decide when it ends."""

    def __init__(self, blocks: Mapping[str, Block], loop: Loop) -> None:
        self.blocks = blocks
        self.loop = loop
        self.lines = [line for label in blocks if label in loop.labels for line in blocks[label].lines]
        self.made = definitions_of(self.lines)

    def waits_for(self) -> set[str]:
        """Return the polling instructions because of which the loop can end; empty if there is none."""
        observed = {name for name, line in self.made.items() if self._observes(line)}
        deciding = self._behind(self._exits())
        if any(opcode(line) == "fence" for line in self.lines) or self._only_looks(deciding):
            observed |= {name for name, line in self.made.items() if self._looks_again(line)}
        if not observed:
            return set()
        if found := deciding & observed:
            return found
        through_memory = any(opcode(self.made[name]) == "load" for name in deciding)
        return observed if through_memory and any(is_cut(line) for line in self.lines) else set()

    def changes(self) -> bool:
        """Return whether a turn may change anything but the thread's own values, or let others do so."""
        return any(opcode(line) in _CHANGES and not _is_known(line) for line in self.lines)

    def _only_looks(self, deciding: Collection[str]) -> bool:
        """Return whether the loop changes nothing, and no turn leaves the next one anything that decides."""
        if self.changes():
            return False
        carried = {name for line in self.blocks[self.loop.head].phis if (name := defined(line))}
        loads = [self.made[name] for name in deciding if opcode(self.made[name]) == "load"]
        return bool(loads) and carried.isdisjoint(deciding) and all(map(self._looks_again, loads))

    def _observes(self, line: str) -> bool:
        """Return whether an instruction polls memory written by other threads."""
        one = parse(line)
        if not _polls(line) or one.predicate in _COUNTS:
            return False
        if one.predicate in _SUMS:
            return one.values[1].startswith("%") or one.values[1] in _ZEROS
        if one.opcode == "cmpxchg" and one.known:
            return not any(opcode(self.made[name]) in _MEMORY for name in self._behind(one.values[1:2]))
        return True

    def _looks_again(self, line: str) -> bool:
        """Return whether an instruction loads from one place in all iterations."""
        return opcode(line) == "load" and self._behind(reads(line)).isdisjoint(self._varying())

    def _varying(self) -> set[str]:
        return {name for name, line in self.made.items() if opcode(line) in _VARYING and not _is_known(line)}

    def _exits(self) -> set[str]:
        """Return the values that decide whether the loop ends."""
        leaving = (
            block.lines[-1]
            for label, block in self.blocks.items()
            if label in self.loop.labels and not self.loop.labels.issuperset(block.successors)
        )
        return {name for line in leaving for name in reads(line)}

    def _behind(self, names: Collection[str]) -> set[str]:
        """Return the values of the loop that names are made of, those included that choose where a phi comes from."""
        found, waiting = set[str](), list(names)
        while waiting:
            if (name := waiting.pop()) in self.made and name not in found:
                found.add(name)
                line = self.made[name]
                waiting += reads(line)
                if opcode(line) == "phi" and self._is_choice(line):
                    waiting += self._branches()
        return found

    def _is_choice(self, phi: str) -> bool:
        return len({value for value, label in arms(phi) if label in self.loop.labels}) > 1

    def _branches(self) -> list[str]:
        ends = (self.blocks[label].lines[-1] for label in self.loop.labels if len(self.blocks[label].successors) > 1)
        return [name for line in ends for name in reads(line)]
