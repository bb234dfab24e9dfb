"""Outlining: code that many regions go through, as functions that they share.

A region runs from its cut to the next cuts, on every path. If a kernel has many cuts behind conditions, each of
them can be the next one of many others, and regions would be copies of most of the kernel: twice as many conditions
would make four times as much code. Then blocks at which paths meet become functions of their own. A region
that reaches one stores what is needed from then on, as at a cut, and ends with a call of it: no thread waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.barriers import goes_on, passing
from gridjit.compiler.targets.host.analysis.liveness import live_in
from gridjit.compiler.targets.host.ir.body import Block, opcode, with_predecessors

# Regions that have more lines together than so many times the kernel, and than so many, share.
_MOST_TIMES, _MOST_LINES = 6, 2_000
# A way has so many lines, about, before it comes to what is shared; and so many regions must come to it.
_WAY = 100
_FEW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinedBlocks:
    """The blocks by label, and the labels that functions start at which regions share, in the order of their numbers.

    live: what each block needs from before it.
    """

    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    live: Mapping[str, frozenset[str]]


def outlined(
    blocks: Mapping[str, Block], starts: Sequence[str], keeps: Callable[[Collection[str]], bool]
) -> OutlinedBlocks:
    """Return blocks cut where the regions that begin at starts share their code.

    keeps: returns whether values can be kept from one function to another.
    """
    reach = _reach(blocks, starts)
    lines = {label: len(block.lines) for label, block in blocks.items()}
    together = sum(lines[label] * count for label, count in reach.items())
    chosen: list[str] = []
    if together > max(_MOST_TIMES * sum(lines.values()), _MOST_LINES):
        chosen = list(_chosen(blocks, starts, reach))
    parted = _parted(blocks, chosen, len(starts))
    live = live_in(parted)
    if refused := [label for label in chosen if not keeps(live[_rest(label)])]:
        chosen = [label for label in chosen if label not in refused]
        parted = _parted(blocks, chosen, len(starts))
        live = live_in(parted)
    return OutlinedBlocks(blocks=parted, starts=tuple(map(_rest, chosen)), live=live)


def _reach(blocks: Mapping[str, Block], starts: Sequence[str]) -> dict[str, int]:
    """Return how many regions come to each block."""
    reach = dict.fromkeys(blocks, 0)
    for start in starts:
        for label in _region(blocks, start):
            reach[label] += 1
    return reach


def _region(blocks: Mapping[str, Block], start: str) -> dict[str, None]:
    return reached([start], lambda label: goes_on(blocks[label]))


def _chosen(blocks: Mapping[str, Block], starts: Sequence[str], reach: Mapping[str, int]) -> Iterator[str]:
    """Yield the labels of blocks where ways meet, so many lines apart, that many regions come to."""
    before = dict.fromkeys(blocks, 0)
    for block in blocks.values():
        for label in dict.fromkeys(goes_on(block)):
            before[label] += 1
    way = 0
    for label in blocks:
        way += len(blocks[label].lines)
        if way >= _WAY and before[label] > 1 and reach[label] >= _FEW and label not in starts:
            way = 0
            yield label


def _parted(blocks: Mapping[str, Block], chosen: Collection[str], first: int) -> dict[str, Block]:
    """Return blocks, the chosen ones cut behind their phis; first: the number of the first cut."""
    last = {label: _rest(label) if label in chosen else label for label in blocks}
    numbers = {label: first + number for number, label in enumerate(chosen)}
    parted: dict[str, Block] = {}
    for label, block in blocks.items():
        lines = tuple(with_predecessors(line, last) if opcode(line) == "phi" else line for line in block.lines)
        if label not in numbers:
            parted[label] = Block(label=label, lines=lines)
            continue
        phis = len(block.phis)
        parted[label] = Block(label=label, lines=(*lines[:phis], passing(numbers[label], _rest(label))))
        parted[_rest(label)] = Block(label=_rest(label), lines=lines[phis:])
    return parted


def _rest(label: str) -> str:
    """Return the label of the block behind a block's phis."""
    return f'%"gj.shared.{label[1:].strip(chr(34))}"'
