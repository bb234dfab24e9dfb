"""Post-dominators: where the paths that part at a branch meet again, and the blocks between (control dependence)."""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.graph import dominators, reached, reverse_postorder
from gridjit.compiler.targets.host.ir.body import Block

# Where all paths end: it comes after the blocks that lead nowhere.
_END = ""


def postdominators(blocks: Mapping[str, Block]) -> dict[str, str | None]:
    """Return, for each block, the nearest other block that every path from it to the end goes through, or None.

    Threads never meet behind a block from which no path leads to the end.
    """
    nearest = dominators(_END, _predecessors(blocks))
    return {label: nearest.get(label) or None for label in blocks}


def end_order(blocks: Mapping[str, Block]) -> dict[str, int]:
    """Return the blocks that lead to the end, with their numbers; each comes before those that only lead through it."""
    return reverse_postorder(_END, _predecessors(blocks))


def _predecessors(blocks: Mapping[str, Block]) -> dict[str, list[str]]:
    before: dict[str, list[str]] = {}
    for label, block in blocks.items():
        for successor in dict.fromkeys(block.successors or (_END,)):
            before.setdefault(successor, []).append(label)
    return before


def between(blocks: Mapping[str, Block], branch: str, meeting: str | None) -> set[str]:
    """Return the blocks that threads can be in once they have parted at branch, including the block where all meet."""
    ways = blocks[branch].successors
    return set(reached(ways, lambda label: () if label == meeting else blocks[label].successors))
