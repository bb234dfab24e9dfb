"""Lockstep: where a kernel relies on the threads of a warp running in step, though it does not say so.

On a GPU, lanes that took different paths continue together where the paths meet, and execute each instruction together.
So a kernel may read from shared memory what other lanes wrote earlier, without a cuda.syncwarp(), and get the same
result every time. The host runs threads one after the other. Such a kernel gets cuts, at which lanes wait for each
other.

There is one rule: lanes are in step between a read and a write, by two lanes, that are not proven to be of different
items. A cut is put at the end of a loop's iteration, where diverged paths meet, or before the second access. So it is
between writes by two instructions, unless both change items that their lane has read (`s[i] += 1`, a swap), and which
lane wins is undefined. Global memory gets none. An unneeded cut costs time, and a missing one leaves a race.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from gridjit.compiler.targets.host.analysis.loops import loops
from gridjit.compiler.targets.host.analysis.postdominators import end_order, postdominators
from gridjit.compiler.targets.host.analysis.shared_addresses import Address, Addresses
from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks, divergent_branches, uniform_values
from gridjit.compiler.targets.host.ir.accesses import accesses, synchronizes
from gridjit.compiler.targets.host.ir.body import Block, Body, defined, opcode, used
from gridjit.compiler.targets.host.ir.coordinates import place
from gridjit.compiler.targets.host.ir.intrinsics import SHARED_ARRAY, STEP
from gridjit.compiler.targets.host.ir.warp_kinds import of_block
from gridjit.compiler.targets.host.ir.warp_operations import read_call

_CUT = f"call void @{STEP}()"


class _Spot(NamedTuple):
    """A place in a block: before the instruction with this number."""

    label: str
    number: int


class _Access(NamedTuple):
    """An access to shared memory, "read", "write" or "atomic", in the block of a label."""

    kind: str
    address: Address
    label: str


# The accesses of a block, in order, each with the instruction that it comes before. A cut is whether all lanes come.
_Events = list[tuple[int, _Access | bool]]
# Instructions that give a new value in each iteration of a loop.
_VARYING = frozenset(("phi", "load", "call", "atomicrmw", "cmpxchg", "freeze"))


def with_lockstep(body: Body, offsets: Mapping[str, int]) -> Body:
    """Return body with cuts where lanes must be in step. offsets: where shared arrays lie."""
    if not any(SHARED_ARRAY in line for line in body.lines):
        return body
    spots = _Search(place(body, offsets)).spots()
    if not spots:
        return body
    # Lanes at the earliest cut go first, so the paths of a branch stand before the block where they meet.
    first, *others = body.blocks
    order = end_order(body.by_label)
    others.sort(key=lambda block: -order.get(block.label, 0))
    return replace(body, blocks=tuple(_with_cuts(block, spots) for block in (first, *others)))


def _with_cuts(block: Block, spots: Collection[_Spot]) -> Block:
    lines = [
        text
        for number, line in enumerate(block.lines)
        for text in ([_CUT, line] if _Spot(block.label, number) in spots else [line])
    ]
    return replace(block, lines=tuple(lines))


class _Search:
    """The search in one kernel, which has the coordinates and shared arrays of ir/coordinates.py."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.blocks = body.by_label
        self.after = {label: tuple(dict.fromkeys(block.successors)) for label, block in self.blocks.items()}
        self.before = {label: [one for one, ways in self.after.items() if label in ways] for label in self.blocks}
        self.loops = loops(self.blocks)
        self.same = uniform_values(body)
        self.parted = divergent_blocks(body, self.same)
        inside = {label for loop in self.loops for label in loop.labels}
        self.addresses = Addresses(body, self.same, _changing(self.blocks, inside))
        self.events = {label: self._events(block) for label, block in self.blocks.items()}
        self.found: set[_Spot] = set()

    def spots(self) -> frozenset[_Spot]:
        """Return the places of the cuts."""
        self._look_at(self._meetings())
        self._look_at(self._ends(), turns=True)
        for label in self.blocks:
            self._look_between(label)
        return frozenset(self.found)

    def _events(self, block: Block) -> _Events:
        events: _Events = []
        for number, line in enumerate(block.lines):
            if call := read_call(line):
                events.append((number, of_block(call.kind) or block.label not in self.parted))
            # Locks are made of the others, and whoever holds one goes on alone.
            lock = (synchronizes(line) or ("", False))[1]
            for access in [] if lock else accesses(line):
                if address := self.addresses.of(access.at):
                    events.append((number, _Access(access.kind, address, block.label)))
        return events

    def _meetings(self) -> Iterator[_Spot]:
        """Yield where the ways of threads that went apart meet."""
        meet = postdominators(self.blocks)
        for label in dict.fromkeys(meet[branch] for branch in divergent_branches(self.body, self.same)):
            if label is not None:
                lines = self.blocks[label].lines
                yield _Spot(label, next(number for number, line in enumerate(lines) if opcode(line) != "phi"))

    def _ends(self) -> Iterator[_Spot]:
        """Yield the ends of loops' turns."""
        for end in (end for loop in self.loops for end in loop.latches):
            yield _Spot(end, len(self.blocks[end].lines) - 1)

    def _look_at(self, candidates: Iterable[_Spot], *, turns: bool = False) -> None:
        """Put cuts at those of the places where accesses before may meet accesses after.

        turns: whether these are in another turn of a loop.
        """
        for spot in candidates:
            later = self._coming(spot)
            earlier = self._reaching(spot, past=not turns)
            if any(self._may_meet(one, other, turns) for one in earlier for other in later):
                self._put(spot)

    def _look_between(self, label: str) -> None:
        """Put cuts into a block, before accesses that may meet earlier ones."""
        first = _Spot(label, 0)
        earlier, own = set(self._reaching(first)), set[Address]()
        for number, event in list(self.events[label]):
            if isinstance(event, bool):
                earlier = set()
                continue
            if any(self._out_of_step(one, event, own) for one in earlier):
                self._put(_Spot(label, number))
                earlier = set()
            earlier.add(event)
            own |= {event.address} if event.kind == "read" else set()

    def _put(self, spot: _Spot) -> None:
        self.found.add(spot)
        self.events[spot.label] = sorted(
            [*self.events[spot.label], (spot.number, spot.label not in self.parted)],
            key=lambda event: (event[0], not isinstance(event[1], bool)),
        )

    def _reaching(self, spot: _Spot, *, past: bool = False) -> set[_Access]:
        """Return the accesses from which a thread comes to a place without a cut.

        past: go past cuts to which not all lanes come. The others did not wait there.
        """
        return self._walk(spot, self.before, forward=False, past=past)

    def _coming(self, spot: _Spot) -> set[_Access]:
        """Return the accesses to which a thread comes from a place without a cut."""
        return self._walk(spot, self.after, forward=True)

    def _walk(
        self, spot: _Spot, ways: Mapping[str, Collection[str]], *, forward: bool, past: bool = False
    ) -> set[_Access]:
        found, seen = set[_Access](), set[str]()
        near = [event for number, event in self.events[spot.label] if (number >= spot.number) == forward]
        waiting = list(ways[spot.label]) if _take(near, found, forward=forward, past=past) else []
        while waiting:
            if (label := waiting.pop()) not in seen:
                seen.add(label)
                if _take([event for _, event in self.events[label]], found, forward=forward, past=past):
                    waiting += ways[label]
        return found

    def _may_meet(self, one: _Access, other: _Access, turns: bool) -> bool:
        """Return whether a thread's access `other` may be to an item that another's `one` read or wrote before it."""
        return one.kind != other.kind and self.addresses.meet(one.address, other.address, turns=turns) != frozenset()

    def _out_of_step(self, one: _Access, other: _Access, own: AbstractSet[Address]) -> bool:
        """Return whether lanes that run one after the other may get another result than lanes that run in step.

        A lane that reads before an earlier lane writes reads what it would read in step. Lanes that write one item in
        the block where they read it (own: what the block has read) are one lane, or it is undefined which wins.
        """
        alone = other.kind == "write" and one.label == other.label and self.addresses.is_one_place(other.address)
        if alone or one.kind == other.kind != "write":
            return False
        directions = self.addresses.meet(one.address, other.address)
        if directions is None:
            return one.kind != other.kind or (one.address != other.address and not {one.address, other.address} <= own)
        return -1 in directions or (bool(directions) and other.kind != "write")


def _take(events: Sequence[_Access | bool], found: set[_Access], *, forward: bool, past: bool) -> bool:
    """Collect the accesses on this side of the first cut; return whether there is none. past: as in _reaching."""
    for event in events if forward else reversed(events):
        if not isinstance(event, bool):
            found.add(event)
        elif event or not past:
            return False
    return True


def _changing(blocks: Mapping[str, Block], inside: Collection[str]) -> frozenset[str]:
    """Return the values that may differ from iteration to iteration of the loops that are made of some blocks."""
    lines = {name: line for label in inside for line in blocks[label].lines if (name := defined(line))}
    found = {name for name, line in lines.items() if opcode(line) in _VARYING}
    while more := {name for name, line in lines.items() if used(line) & found} - found:
        found |= more
    return frozenset(found)
