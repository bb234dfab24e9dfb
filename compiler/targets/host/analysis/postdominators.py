"""Post-dominators: where the paths that part at a branch meet again, and the blocks between (control dependence)."""

from __future__ import annotations

from collections.abc import Mapping

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.ir.body import Block

# Where all paths end: it comes after the blocks that lead nowhere.
_END = ""


def postdominators(blocks: Mapping[str, Block]) -> dict[str, str | None]:
    """Return, for each block, the nearest other block that every path from it to the end goes through, or None.

    Threads never meet behind a block from which no path leads to the end. This is the usual search for dominators
    (Cooper, Harvey and Kennedy), from the end backwards.
    """
    after = {label: block.successors or (_END,) for label, block in blocks.items()}
    order = reverse_postorder(blocks)
    nearest: dict[str, str] = {_END: _END}
    changed = True
    while changed:
        changed = False
        for label in list(order)[1:]:
            known = [other for other in after[label] if other in nearest]
            new = known[0]
            for other in known[1:]:
                new = _common(new, other, nearest, order)
            changed |= nearest.get(label) != new
            nearest[label] = new
    return {label: nearest.get(label) or None for label in blocks}


def reverse_postorder(blocks: Mapping[str, Block]) -> dict[str, int]:
    """Return the blocks that lead to the end, with their numbers; each comes before those that only lead through it."""
    before: dict[str, list[str]] = {}
    for label, block in blocks.items():
        for successor in dict.fromkeys(block.successors or (_END,)):
            before.setdefault(successor, []).append(label)
    done: list[str] = []
    seen, path = {_END}, [(_END, iter(before.get(_END, ())))]
    while path:
        label, rest = path[-1]
        if (found := next((one for one in rest if one not in seen), None)) is None:
            done.append(label)
            path.pop()
        else:
            seen.add(found)
            path.append((found, iter(before.get(found, ()))))
    return {label: number for number, label in enumerate(reversed(done))}


def _common(one: str, other: str, nearest: Mapping[str, str], order: Mapping[str, int]) -> str:
    """Return the first block that both meet at."""
    while one != other:
        while order[one] > order[other]:
            one = nearest[one]
        while order[other] > order[one]:
            other = nearest[other]
    return one


def between(blocks: Mapping[str, Block], branch: str, meeting: str | None) -> set[str]:
    """Return the blocks that threads can be in once they have parted at branch, including the block where all meet."""
    ways = blocks[branch].successors
    return set(reached(ways, lambda label: () if label == meeting else blocks[label].successors))
