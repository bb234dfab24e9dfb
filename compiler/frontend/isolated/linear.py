"""linear: parts of numba-cuda that take time by the square of a function's length, replaced by ones that do not.

They answer the same.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from gridjit.compiler.frontend.isolated.replacing import replace


def make_linear() -> None:
    """Replace them until that is undone."""
    from numba.cuda.lowering import Lower

    replace(Lower, "_find_singly_assigned_variable", _find_singly_assigned)


def _find_singly_assigned(lowering: Any) -> None:
    """Note the variables that need no memory: assigned once in the whole function, and used in that block alone."""
    lowering._singly_assigned_vars = set()
    lowering._blk_local_varmap = {}
    if not lowering.func_ir.func_id.is_generator:
        lowering._singly_assigned_vars = _singly_assigned(lowering.func_ir.blocks)


def _singly_assigned(blocks: dict[int, Any]) -> set[str]:
    from numba.cuda.core import ir
    from numba.cuda.core.analysis import compute_use_defs, must_use_alloca

    use_defs = compute_use_defs(blocks)
    defined = Counter(name for names in use_defs.defmap.values() for name in names)
    assigned = Counter(one.target.name for block in blocks.values() for one in block.find_insts(ir.assign_types))
    elsewhere = set(must_use_alloca(blocks)).union(*use_defs.usemap.values())
    return {name for name, count in defined.items() if count == assigned[name] == 1} - elsewhere
