"""Liveness: the values that each block of a function needs from before it."""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.host.ir.body import Block, arms, defined, opcode, reads


def live_in(blocks: Mapping[str, Block]) -> dict[str, frozenset[str]]:
    """Return the values that each block needs from before it. What a phi takes, the predecessor that it names needs."""
    read = {label: _read_first(block) for label, block in blocks.items()}
    writes = {label: {name for line in block.lines if (name := defined(line))} for label, block in blocks.items()}
    sends = _sent_to_phis(blocks)
    live: dict[str, frozenset[str]] = {label: frozenset() for label in blocks}
    changed = True
    while changed:
        changed = False
        for label in reversed(list(blocks)):
            out = sends[label].union(*(live[after] for after in blocks[label].successors))
            new = frozenset(read[label] | (out - writes[label]))
            changed |= new != live[label]
            live[label] = new
    return live


def _read_first(block: Block) -> set[str]:
    """Return the values block reads before it defines them; labels are not values."""
    names: set[str] = set()
    mine: set[str] = set()
    for line in block.lines:
        if opcode(line) != "phi":
            names |= reads(line) - mine
        if name := defined(line):
            mine.add(name)
    return names


def _sent_to_phis(blocks: Mapping[str, Block]) -> dict[str, set[str]]:
    """Return the values that phis take from each block."""
    sends: dict[str, set[str]] = {label: set() for label in blocks}
    for block in blocks.values():
        for phi in block.phis:
            for value, predecessor in arms(phi):
                if value.startswith("%"):
                    sends[predecessor].add(value)
    return sends
