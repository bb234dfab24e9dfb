"""lifetimes: the lifetimes of variables are computed on demand, not after each pass.

numba-cuda computes them a dozen times for every function, and uses only the last result: each pass starts over. Only
generators and literal_unroll read what an earlier pass left, so for these numba's own code runs. If an extension
has rewrites, which may look at anything, it runs for all functions.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace
from gridjit.compiler.key.extensions import foreign_rewrites


def _install(replace: Replace) -> None:
    from numba.cuda.core import transforms
    from numba.cuda.core.ir import FunctionIR
    from numba.cuda.core.postproc import PostProcessor, VariableLifetime

    if foreign_rewrites():
        return

    def run(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        ir = processor.func_ir
        if ir.is_generator or _unrolls(ir):
            original(processor, emit_dels, extend_lifetimes)
            return
        ir.blocks = transforms.canonicalize_cfg(ir.blocks)
        ir.variable_lifetime = VariableLifetime(ir.blocks)
        ir.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    def get_block_entry_vars(ir: Any, block: Any) -> Any:
        if block not in ir.block_entry_vars and ir.variable_lifetime is not None:
            _note_entry_variables(ir)
        return answer(ir, block)

    original = replace(PostProcessor, "run", run)
    answer = replace(FunctionIR, "get_block_entry_vars", get_block_entry_vars)


def _unrolls(ir: Any) -> bool:
    """Return whether a function may call literal_unroll, under any name."""
    from numba.cuda.core.ir import expr_types, freevar_types, global_types
    from numba.cuda.misc.special import literal_unroll

    values = (*global_types, *freevar_types)
    for definitions in ir._definitions.values():
        for one in definitions:
            if isinstance(one, values):
                if one.value is literal_unroll:
                    return True
            elif isinstance(one, expr_types) and one.op == "getattr" and one.attr == "literal_unroll":
                return True
    return False


def _note_entry_variables(ir: Any) -> None:
    """Work out which variables are alive where each block begins."""
    from numba.cuda.core.analysis import compute_live_variables

    known = ir.variable_lifetime
    alive = compute_live_variables(known.cfg, ir.blocks, known.usedefs.defmap, known.deadmaps.combined)
    ir.block_entry_vars.update((block, alive[label]) for label, block in ir.blocks.items())


PIECE = Piece(
    name="lifetimes",
    written_for={
        "numba.cuda.core.postproc:PostProcessor.run": ("31 lines, a81a28c4658c9154",),
        "numba.cuda.core.postproc:PostProcessor._insert_var_dels": ("23 lines, 88cdedc54946099f",),
        "numba.cuda.core.ir:FunctionIR.get_block_entry_vars": ("6 lines, f712afeaedcbda01",),
        "numba.cuda.core.ir:FunctionIR.derive": ("29 lines, e9c3b8896897d9ca",),
        "numba.cuda.core.ir:FunctionIR.copy": ("12 lines, 23a93cf33245fd61",),
        "numba.cuda.core.analysis:compute_live_variables": ("39 lines, defb085c36ae0ce8",),
    },
    install=_install,
)
