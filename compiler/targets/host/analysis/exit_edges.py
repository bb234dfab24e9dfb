"""Exit edges: a kernel's blocks without the branches to where a thread only ends, or where an index is out of bounds.

Threads that have ended count as arrived at every barrier of the block. So the others are still together after
`if i >= n: return`, and share what they would share without that branch. A thread whose index is out of bounds ends,
and its grid with it: it never meets the others again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.ir.intrinsics import OUTSIDE
from gridjit.compiler.targets.host.ir.parse import parse

# What notes an index out of bounds, in the kernel's own code and in checked code.
NOTED = "gridjit.check.outside"
_NOTES = frozenset((OUTSIDE, NOTED))


def without_exit_edges(blocks: Collection[Block]) -> tuple[Block, ...]:
    """Return blocks without branches to where a thread only ends, except those that are others' only way to an end."""
    named = {block.label: block for block in blocks}
    ends = {label for label, block in named.items() if block.lines == ("ret i32 0",)}
    return tuple(_without(block, ends, named) for block in blocks)


def _without(block: Block, ends: Collection[str], blocks: Mapping[str, Block]) -> Block:
    stays = [label for label in block.end.labels if label not in ends]
    if not block.end.condition or len(stays) != 1 or not _ends(stays[0], block.label, blocks):
        return block
    return replace(block, lines=(*block.lines[:-1], f"br label {stays[0]}"))


def _ends(start: str, without: str, blocks: Mapping[str, Block]) -> bool:
    """Return whether a path leads from start to a thread's end without a certain block."""
    found = reached([start], lambda label: [after for after in blocks[label].successors if after != without])
    return any(blocks[label].end.opcode == "ret" for label in found)


def without_failures(body: Body) -> Body:
    """Return a body without the branches to where an index is out of bounds."""
    return replace(body, blocks=without_failing_edges(body.blocks))


def without_failing_edges(blocks: Collection[Block]) -> tuple[Block, ...]:
    """Return blocks without the branches to where an index is out of bounds."""
    failing = {block.label for block in blocks if any(parse(line).callee_name in _NOTES for line in block.lines)}
    return tuple(_staying(block, failing) for block in blocks)


def _staying(block: Block, failing: set[str]) -> Block:
    stays = [label for label in block.successors if label not in failing]
    if not block.end.condition or len(stays) != 1:
        return block
    return Block(label=block.label, lines=(*block.lines[:-1], f"br label {stays[0]}"))
