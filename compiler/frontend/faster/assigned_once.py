"""assigned_once: variables that do not need memory are found by one walk over each block.

numba-cuda keeps a variable out of memory if only one block defines and uses it, and assigns it once. To find out,
it goes through the block's whole body for each variable, and a straight kernel of some hundred lines is one block with
thousands of statements and variables. Here assignments are counted by name, block by block.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.lowering import Lower

    def find_singly_assigned_variable(lower: Any) -> None:
        lower._singly_assigned_vars = (
            set() if lower.func_ir.func_id.is_generator else _assigned_once(lower.func_ir.blocks)
        )
        lower._blk_local_varmap = {}

    replace(Lower, "_find_singly_assigned_variable", find_singly_assigned_variable)


def _assigned_once(blocks: Any) -> set[str]:
    """Return the variables that one block defines, with one assignment, and no block uses before it defines them."""
    from numba.cuda.core import ir
    from numba.cuda.core.analysis import compute_use_defs, must_use_alloca

    found = compute_use_defs(blocks)
    used = set(must_use_alloca(blocks)).union(*found.usemap.values())
    blocks_of = Counter(name for names in found.defmap.values() for name in names)
    once: set[str] = set()
    for label, names in found.defmap.items():
        assigned = Counter(stmt.target.name for stmt in blocks[label].body if isinstance(stmt, ir.assign_types))
        once.update(name for name in names if name not in used and blocks_of[name] == 1 == assigned[name])
    return once


PIECE = Piece(
    name="assigned_once",
    written_for={"numba.cuda.lowering:Lower._find_singly_assigned_variable": ("43 lines, e773b3feedd43154",)},
    install=_install,
)
