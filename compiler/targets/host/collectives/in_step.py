"""in_step: where a kernel relies on the threads of a warp running in step, though it does not say so.

On a GPU, lanes that took different paths continue together where the paths meet, and execute each instruction together.
So a kernel may read from shared memory what other lanes wrote earlier, without a cuda.syncwarp(), and get the same
result every time. The host runs threads one after the other. Such a kernel gets cuts, at which lanes wait for each
other.

A cut is put where accesses of the same array may meet: at the end of each iteration of a loop with barriers, where
diverged paths meet, and between accesses that are a known number of lanes apart. A loop without a barrier gets
none, and a kernel without barriers only the last kind. An unneeded cut costs time, and a missing one leaves a race.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gridjit.compiler.targets.host.collectives.addresses import Address, Addresses
from gridjit.compiler.targets.host.flow.meetings import meetings
from gridjit.compiler.targets.host.flow.uniform import parting_branches, uniform_values
from gridjit.compiler.targets.host.library.intrinsics import SHARED_ARRAY, STEP
from gridjit.compiler.targets.host.regions.barriers import is_cut
from gridjit.compiler.targets.host.regions.body import Block, Body, defined, opcode, used
from gridjit.compiler.targets.host.regions.computed import accessed
from gridjit.compiler.targets.host.regions.coordinates import place
from gridjit.compiler.targets.host.resident.waits import loops

_CUT = f"call void @{STEP}()"


class _Spot(NamedTuple):
    """A place in a block: before the instruction with this number."""

    label: str
    number: int


class _Access(NamedTuple):
    """A load or a store of shared memory."""

    loads: bool
    address: Address


# The accesses of a block, in order, and None for cuts, each with the instruction that it comes before.
_Events = list[tuple[int, _Access | None]]
# Instructions that give a new value in each turn of a loop.
_VARYING = frozenset(("phi", "load", "call", "atomicrmw", "cmpxchg", "freeze"))


def in_step(body: Body, offsets: Mapping[str, int]) -> Body:
    """Return body with cuts where lanes must be in step. offsets: where shared arrays lie."""
    if not any(SHARED_ARRAY in line for block in body.blocks for line in block.lines):
        return body
    spots = _Search(place(body, offsets)).spots()
    return replace(body, blocks=tuple(_with_cuts(block, spots) for block in body.blocks)) if spots else body


def _with_cuts(block: Block, spots: Collection[_Spot]) -> Block:
    lines = [
        text
        for number, line in enumerate(block.lines)
        for text in ([_CUT, line] if _Spot(block.label, number) in spots else [line])
    ]
    return replace(block, lines=tuple(lines))


class _Search:
    """The search in one kernel, whose coordinates and shared arrays are those of regions/coordinates.py."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.blocks = {block.label: block for block in body.blocks}
        self.after = {label: tuple(dict.fromkeys(block.successors)) for label, block in self.blocks.items()}
        self.before = {label: [one for one, ways in self.after.items() if label in ways] for label in self.blocks}
        self.loops = loops(self.blocks)
        self.same = uniform_values(body)
        inside = {label for loop in self.loops for label in loop.labels}
        self.addresses = Addresses(body, self.same, _changing(self.blocks, inside))
        self.events = {label: self._events(block) for label, block in self.blocks.items()}
        self.found: set[_Spot] = set()

    def spots(self) -> frozenset[_Spot]:
        """Return the places of the cuts."""
        outside = self._outside_loops()
        cuts = any(event is None for events in self.events.values() for _, event in events)
        self._look_at(self._ends(outside), self._may_meet)
        self._look_at(self._meetings(outside), self._may_meet if cuts else self._meet)
        for label in outside:
            self._look_between(label)
        return frozenset(self.found)

    def _events(self, block: Block) -> _Events:
        events: _Events = []
        for number, line in enumerate(block.lines):
            if is_cut(line):
                events.append((number, None))
            elif (pointer := accessed(line)) and (address := self.addresses.of(pointer)):
                events.append((number, _Access(not line.startswith("store "), address)))
        return events

    def _outside_loops(self) -> list[str]:
        """Return the blocks that are in no loop, or only in loops with cuts."""
        inside = set[str]()
        for loop in self.loops:
            if not any(event is None for label in loop.labels for _, event in self.events[label]):
                inside |= loop.labels
        return [label for label in self.blocks if label not in inside]

    def _meetings(self, outside: Collection[str]) -> Iterator[_Spot]:
        """Yield where the ways of threads that went apart meet."""
        meet = meetings(self.blocks)
        for label in dict.fromkeys(meet[branch] for branch in parting_branches(self.body, self.same)):
            if label is not None and label in outside:
                lines = self.blocks[label].lines
                yield _Spot(label, next(number for number, line in enumerate(lines) if opcode(line) != "phi"))

    def _ends(self, outside: Collection[str]) -> Iterator[_Spot]:
        """Yield the ends of turns of loops with cuts."""
        for end in (end for loop in self.loops for end in loop.latches if end in outside):
            yield _Spot(end, len(self.blocks[end].lines) - 1)

    def _look_at(self, candidates: Iterable[_Spot], meet: Callable[[_Access, _Access], bool]) -> None:
        """Put cuts at those of the places where accesses before may meet accesses after."""
        for spot in candidates:
            later = self._coming(spot)
            if any(one.loads != other.loads and meet(one, other) for one in self._reaching(spot) for other in later):
                self._put(spot)

    def _look_between(self, label: str) -> None:
        """Put cuts into a block, before accesses that surely meet earlier ones."""
        first = _Spot(label, 0)
        earlier = set(self._reaching(first))
        for number, event in list(self.events[label]):
            if event is None:
                earlier = set()
                continue
            if any(self._out_of_step(one, event) for one in earlier):
                self._put(_Spot(label, number))
                earlier = set()
            earlier.add(event)

    def _put(self, spot: _Spot) -> None:
        self.found.add(spot)
        self.events[spot.label] = sorted(
            [*self.events[spot.label], (spot.number, None)], key=lambda event: (event[0], event[1] is not None)
        )

    def _reaching(self, spot: _Spot) -> set[_Access]:
        """Return the accesses from which a thread comes to a place without a cut."""
        return self._walk(spot, self.before, forward=False)

    def _coming(self, spot: _Spot) -> set[_Access]:
        """Return the accesses to which a thread comes from a place without a cut."""
        return self._walk(spot, self.after, forward=True)

    def _walk(self, spot: _Spot, ways: Mapping[str, Collection[str]], *, forward: bool) -> set[_Access]:
        found, seen = set[_Access](), set[str]()
        near = [event for number, event in self.events[spot.label] if (number >= spot.number) == forward]
        waiting = list(ways[spot.label]) if _take(near, found, forward=forward) else []
        while waiting:
            if (label := waiting.pop()) not in seen:
                seen.add(label)
                if _take([event for _, event in self.events[label]], found, forward=forward):
                    waiting += ways[label]
        return found

    def _may_meet(self, one: _Access, other: _Access) -> bool:
        """Return whether a thread's access `other`, after a place, may be where another's `one` was before it."""
        return self.addresses.may_meet(one.address, other.address)

    def _meet(self, one: _Access, other: _Access) -> bool:
        """Return whether a thread surely is where another one was."""
        return bool(self.addresses.directions(one.address, other.address))

    def _out_of_step(self, one: _Access, other: _Access) -> bool:
        """Return whether lanes that run one after the other surely get another result than lanes that run in step.

        A lane that reads before an earlier lane writes reads what it would read in step.
        """
        if one.loads == other.loads or self.addresses.is_one_place(other.address):
            return False
        directions = self.addresses.directions(one.address, other.address) or frozenset()
        return -1 in directions if one.loads else bool(directions)


def _take(events: Sequence[_Access | None], found: set[_Access], *, forward: bool) -> bool:
    """Collect the accesses on this side of the first cut; return whether there is none."""
    for event in events if forward else reversed(events):
        if event is None:
            return False
        found.add(event)
    return True


def _changing(blocks: Mapping[str, Block], inside: Collection[str]) -> frozenset[str]:
    """Return the values that may differ from turn to turn of the loops that are made of some blocks."""
    lines = {name: line for label in inside for line in blocks[label].lines if (name := defined(line))}
    found = {name for name, line in lines.items() if opcode(line) in _VARYING}
    while more := {name for name, line in lines.items() if used(line) & found} - found:
        found |= more
    return frozenset(found)
