"""uniform: the values of a kernel that are the same for every thread of a block.

A value is uniform if it is made of uniform values only, and no thread can have reached it on another path. Loads and
calls count as divergent. In doubt a value is divergent, which costs speed and nothing else.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.regions.body import Block, Body, arms, defined, opcode, used, without_labels
from gridjit.compiler.targets.host.regions.coordinates import PLACE

_DIVERGENT_OPERATIONS = frozenset(("load", "call", "alloca", "atomicrmw", "cmpxchg", "freeze"))
_THREADS_OWN = frozenset(("%gj.tid.x", "%gj.tid.y", "%gj.tid.z", "%gj.thread", "%gj.slab"))


def uniform_values(body: Body) -> frozenset[str]:
    """Return the names of body's uniform values."""
    blocks = {block.label: block for block in body.blocks}
    meetings = _meetings(blocks)
    regions = {
        label: _until_all_meet(blocks, label, meetings[label])
        for label, block in blocks.items()
        if len(block.successors) > 1
    }
    divergent = {parameter.name for parameter in PLACE if parameter.name in _THREADS_OWN}
    while True:
        before = len(divergent)
        apart: set[str] = set()
        for label, region in regions.items():
            if _reads(blocks[label].lines[-1]) & divergent:
                apart |= region
        for block in body.blocks:
            for line in block.lines:
                name = defined(line)
                if name is not None and _diverges(line, block.label in apart, divergent):
                    divergent.add(name)
        # Threads leave a loop after different numbers of turns: whatever they take out of it differs.
        for label, region in regions.items():
            if label in region and _reads(blocks[label].lines[-1]) & divergent:
                divergent |= {name for inner in region for line in blocks[inner].lines if (name := defined(line))}
        if len(divergent) == before:
            break
    return frozenset(name for block in body.blocks for line in block.lines if (name := defined(line))) - divergent


def _diverges(line: str, apart: bool, divergent: set[str]) -> bool:
    operation = opcode(line)
    if operation == "phi":
        return apart or any(value in divergent for value, _ in arms(line))
    return operation in _DIVERGENT_OPERATIONS or bool(_reads(line) & divergent)


def _reads(line: str) -> set[str]:
    return used(without_labels(line))


def _until_all_meet(blocks: dict[str, Block], branch: str, meeting: str | None) -> set[str]:
    """Return the blocks that threads can be in once they parted at branch, up to and with the one where all meet."""
    seen: set[str] = set()
    waiting = list(blocks[branch].successors)
    while waiting:
        label = waiting.pop()
        if label not in seen:
            seen.add(label)
            if label != meeting:
                waiting += blocks[label].successors
    return seen


def _meetings(blocks: dict[str, Block]) -> dict[str, str | None]:
    """Return, for each block, the nearest other block that every path from it to the end goes through, or None."""
    after = {label: frozenset(blocks) for label in blocks}
    changed = True
    while changed:
        changed = False
        for label in reversed(blocks):
            ways = [after[successor] for successor in blocks[label].successors]
            new = frozenset((label,)) | (frozenset.intersection(*ways) if ways else frozenset())
            changed |= new != after[label]
            after[label] = new
    # The blocks that follow a block on every path do so in one order, and the nearest has the most still to follow.
    # If no path leads from a block to the end, everything follows it; its threads never meet.
    endless = {label for label in blocks if len(after[label]) == len(blocks) > 1 and blocks[label].successors}
    return {
        label: None
        if label in endless
        else max(after[label] - {label}, key=lambda other: len(after[other]), default=None)
        for label in blocks
    }
