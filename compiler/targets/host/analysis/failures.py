"""Failing paths: a kernel without the branches to where an index is out of bounds.

A thread that goes there ends, and its grid with it. So it parts from the other threads, but never meets them again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gridjit.compiler.targets.host.ir.body import Block, Body, opcode
from gridjit.compiler.targets.host.ir.intrinsics import OUTSIDE

# What notes such an index, in the kernel's own code and in checked code.
NOTED = "gridjit.check.outside"
_NOTES = (f"@{OUTSIDE}(", f'@"{OUTSIDE}"(', f"@{NOTED}(")


def without_failures(body: Body) -> Body:
    """Return a body without those branches."""
    return replace(body, blocks=staying(body.blocks))


def staying(blocks: Collection[Block]) -> tuple[Block, ...]:
    """Return blocks without those branches."""
    failing = {block.label for block in blocks if any(note in line for line in block.lines for note in _NOTES)}
    return tuple(_staying(block, failing) for block in blocks)


def _staying(block: Block, failing: set[str]) -> Block:
    stays = [label for label in block.successors if label not in failing]
    if opcode(block.lines[-1]) != "br" or len(stays) != 1 or len(block.successors) == 1:
        return block
    return Block(label=block.label, lines=(*block.lines[:-1], f"br label {stays[0]}"))
