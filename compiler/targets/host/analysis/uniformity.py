"""Uniformity: the values of a kernel that are the same for every thread of a block.

A value is uniform if it is made of uniform values only, and all threads reach it on the same path. Loads and calls
count as divergent, except calls of LLVM's own operations on numbers. In doubt a value is divergent, which costs
speed and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.analysis.postdominators import between, postdominators
from gridjit.compiler.targets.host.ir.body import Body, defined, opcode, reads
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.ir.opcodes import is_operation
from gridjit.compiler.targets.host.ir.parse import parse

_DIVERGENT_OPERATIONS = frozenset(("load", "call", "alloca", "atomicrmw", "cmpxchg", "freeze"))
_THREADS_OWN = frozenset(("%gj.tid.x", "%gj.tid.y", "%gj.tid.z", "%gj.thread", "%gj.at", "%gj.apart", "%gj.slab"))


def uniform_values(body: Body) -> frozenset[str]:
    """Return the names of body's uniform values."""
    blocks = body.by_label
    meet = postdominators(blocks)
    regions = {
        label: between(blocks, label, meet[label]) for label, block in blocks.items() if len(block.successors) > 1
    }
    divergent = {parameter.name for parameter in PLACE if parameter.name in _THREADS_OWN}
    while True:
        before = len(divergent)
        apart: set[str] = set()
        for label, region in regions.items():
            if reads(blocks[label].lines[-1]) & divergent:
                apart |= region
        for block in body.blocks:
            for line in block.lines:
                name = defined(line)
                if name is not None and name not in divergent and _diverges(line, block.label in apart, divergent):
                    divergent.add(name)
        # Threads leave a loop after different numbers of turns: whatever they take out of it differs.
        for label, region in regions.items():
            if label in region and reads(blocks[label].lines[-1]) & divergent:
                divergent |= {name for inner in region for line in blocks[inner].lines if (name := defined(line))}
        if len(divergent) == before:
            break
    return frozenset(name for line in body.lines if (name := defined(line))) - divergent


def divergent_blocks(body: Body, same: Collection[str]) -> frozenset[str]:
    """Return the blocks that some threads may not be in, or not as often as others; same: body's uniform values."""
    blocks = body.by_label
    meet = postdominators(blocks)
    branches = divergent_branches(body, same)
    return frozenset[str]().union(*(between(blocks, label, meet[label]) - {meet[label]} for label in branches))


def divergent_branches(body: Body, same: Collection[str]) -> list[str]:
    """Return the blocks from which threads may go different ways; same: body's uniform values."""
    own = {name for line in body.lines if (name := defined(line))} - set(same) | _THREADS_OWN
    parting = (block for block in body.blocks if reads(block.lines[-1]) & own)
    return [block.label for block in parting if len(block.successors) > 1]


def lasting_values(body: Body, same: Collection[str]) -> frozenset[str]:
    """Return the uniform values, among same, that never change: no loop gives them a new value."""
    lines = {name: line for line in body.lines if (name := defined(line)) and name in same}
    changing = {name for name, line in lines.items() if opcode(line) == "phi"}
    while more := {name for name, line in lines.items() if reads(line) & changing} - changing:
        changing |= more
    return frozenset(lines.keys() - changing)


def _diverges(line: str, apart: bool, divergent: set[str]) -> bool:
    made = parse(line)
    if not made.known:
        return True
    if made.opcode == "phi":
        return apart or not divergent.isdisjoint(made.values)
    alone = made.opcode in _DIVERGENT_OPERATIONS and not (made.opcode == "call" and is_operation(line))
    return alone or bool(reads(line) & divergent)
