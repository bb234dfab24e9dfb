"""Loops: the loops of a kernel, each with the block that it begins with and the blocks that lead back there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.ir.body import Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop: the block it begins with, the blocks that lead back there, and all its blocks."""

    head: str
    latches: tuple[str, ...]
    labels: frozenset[str]


def loops(blocks: Mapping[str, Block]) -> list[Loop]:
    """Return the loops among blocks, of which the first is the entry."""
    latches: dict[str, list[str]] = {}
    for latch, head in _back_edges(blocks):
        latches.setdefault(head, []).append(latch)
    before: dict[str, list[str]] = {label: [] for label in blocks}
    for label, block in blocks.items():
        for after in block.successors:
            before[after].append(label)
    return [Loop(head=head, latches=tuple(ends), labels=_between(head, ends, before)) for head, ends in latches.items()]


def _back_edges(blocks: Mapping[str, Block]) -> Iterator[tuple[str, str]]:
    """Yield each edge that leads to a block from which a walk through the blocks has come."""
    entry = next(iter(blocks))
    path, seen = [(entry, iter(dict.fromkeys(blocks[entry].successors)))], {entry}
    here = {entry}
    while path:
        label, rest = path[-1]
        after = next(rest, None)
        if after is None:
            here.discard(label)
            path.pop()
        elif after in here:
            yield label, after
        elif after not in seen:
            seen.add(after)
            here.add(after)
            path.append((after, iter(dict.fromkeys(blocks[after].successors))))


def _between(head: str, latches: Iterable[str], before: Mapping[str, list[str]]) -> frozenset[str]:
    """Return the blocks from which control gets to latches without passing head, and head."""
    return frozenset(reached([head, *latches], lambda label: () if label == head else before[label]))
