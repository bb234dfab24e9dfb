"""Leaving: a kernel's blocks without the ways on which threads do nothing more than end.

Threads that have ended count as arrived at any barrier of the block, so the others are still together behind
`if i >= n: return`: what they share, they share as if the branch were not there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from gridjit.compiler.targets.host.regions.body import NAME, Block

_BRANCH = re.compile(rf"br i1 \S+, label ({NAME}), label ({NAME})")


def without_leaving(blocks: Collection[Block]) -> tuple[Block, ...]:
    """Return blocks whose branches do not lead to where a thread only ends."""
    ends = {block.label for block in blocks if block.lines == ("ret i32 0",)}
    return tuple(_without(block, ends) for block in blocks)


def _without(block: Block, ends: Collection[str]) -> Block:
    found = _BRANCH.match(block.lines[-1])
    stays = [label for label in found.groups() if label not in ends] if found else []
    return replace(block, lines=(*block.lines[:-1], f"br label {stays[0]}")) if len(stays) == 1 else block
