"""liveness: where variables are alive is found with a bit for each variable, from the last block to the first.

numba-cuda goes through all blocks with sets of names, from the first to the last, until nothing changes: for a kernel
of thousands of branches, most of a compile. It also looks for each block whether its scope has each variable, though
blocks share a scope.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

_Masks = dict[int, int]
_Passed = Callable[[int, int], int]


def _install(replace: Replace) -> None:
    from numba.cuda.core import analysis, untyped_passes

    replace(analysis, "compute_live_map", compute_live_map)

    def define_all(blocks: dict[int, Any]) -> None:
        one_for_each = {id(block.scope): block for block in blocks.values()}.values()
        used = {name: variable for block in blocks.values() for name, variable in _used(block)}
        for block in one_for_each:
            known = block.scope.localvars
            for name, variable in used.items():
                if name not in known:
                    known.define(name, variable)

    replace(untyped_passes, "fixup_var_define_in_scope", define_all)


def _used(block: Any) -> Iterable[tuple[str, Any]]:
    return ((variable.name, variable) for statement in block.body for variable in statement.list_vars())


def compute_live_map(
    cfg: Any, blocks: dict[int, Any], uses: dict[int, set[str]], defines: dict[int, set[str]]
) -> dict[int, set[str]]:
    """Return the variables that are live at each block's entry and used or defined on a path to it."""
    names = [*{name: None for sets in (uses, defines) for here in sets.values() for name in here}]
    bits = {name: 1 << at for at, name in enumerate(names)}
    used, defined = ({block: _mask(here, bits) for block, here in sets.items()} for sets in (uses, defines))
    after = {block: [label for label, _ in cfg.successors(block)] for block in blocks}
    before = {block: [label for label, _ in cfg.predecessors(block)] for block in blocks}
    known = {block: used[block] | defined[block] for block in blocks}
    _spread(sorted(blocks), known, after, lambda block, one: known[block])
    alive = {block: used[block] for block in blocks}
    _spread(sorted(blocks, reverse=True), alive, before, lambda block, one: alive[block] & known[one] & ~defined[one])
    return {block: _names(mask, names) for block, mask in alive.items()}


def _spread(order: list[int], masks: _Masks, nexts: dict[int, list[int]], passed: _Passed) -> None:
    """Propagate masks from each block to its next ones, block by block in that order, until nothing changes."""
    grows = True
    while grows:
        grows = False
        for block in order:
            for one in nexts[block]:
                if (grown := masks[one] | passed(block, one)) != masks[one]:
                    masks[one], grows = grown, True


def _mask(here: Iterable[str], bits: dict[str, int]) -> int:
    mask = 0
    for name in here:
        mask |= bits[name]
    return mask


def _names(mask: int, names: list[str]) -> set[str]:
    text = f"{mask:b}"[::-1]
    found, at = set[str](), text.find("1")
    while at >= 0:
        found.add(names[at])
        at = text.find("1", at + 1)
    return found


PIECE = Piece(
    name="liveness",
    written_for={
        "numba.cuda.core.analysis:compute_live_map": ("51 lines, 291574bfec1b2279",),
        "numba.cuda.core.ir_utils:fixup_var_define_in_scope": ("24 lines, d80ced8c0df28e49",),
    },
    install=_install,
)
