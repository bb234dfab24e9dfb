"""lifetimes: the lifetimes of variables are computed on demand, not after each pass.

numba-cuda computes them a dozen times for every function, and uses only the last result: each pass starts over. Only
generators and literal_unroll read what an earlier pass left, so for these numba's own code runs. If an extension
has rewrites, which may look at anything, it runs for all functions.

Twice, it also writes into the function where each variable ends, and removes that again: for inlining closures and
reductions, and for arrays that are made from lists. Here this is left out for functions without any of these.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace
from gridjit.compiler.key.extensions import foreign_rewrites

# The function whose variables' ends nobody reads now. Another kernel may be compiled meanwhile, by a signal's handler.
_without_ends: list[Any] = [None]
# Expressions that numba inlines, and where it looks for a callee's name.
_MADE = ("make_function", "build_list")
_NAMES = ("name", "_name", "__name__")


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
        if emit_dels and ir is not _without_ends[0]:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    def get_block_entry_vars(ir: Any, block: Any) -> Any:
        if block not in ir.block_entry_vars and ir.variable_lifetime is not None:
            _note_entry_variables(ir)
        return answer(ir, block)

    original = replace(PostProcessor, "run", run)
    answer = replace(FunctionIR, "get_block_entry_vars", get_block_entry_vars)


def _install_ends(replace: Replace) -> None:
    from numba.cuda.core import inline_closurecall, postproc
    from numba.cuda.core.typed_passes import NopythonRewrites

    if foreign_rewrites() or postproc.ir_extension_insert_dels:
        return

    def inline(inlining: Any) -> None:
        ir = inlining.func_ir
        if _has_to_inline(ir):
            inline_original(inlining)
        else:
            postproc.PostProcessor(ir).run()
            inline_closurecall.remove_dels(ir.blocks)

    def rewrite(passing: Any, state: Any) -> Any:
        ir = state.func_ir
        _without_ends[0] = None if any(map(_makes_lists, ir.blocks.values())) else ir
        try:
            return rewrite_original(passing, state)
        finally:
            _without_ends[0] = None

    def match(rewriting: Any, ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
        return _makes_lists(block) and bool(match_original(rewriting, ir, block, typemap, calltypes))

    inline_original = replace(inline_closurecall.InlineClosureCallPass, "run", inline)
    rewrite_original = replace(NopythonRewrites, "run_pass", rewrite)
    match_original = replace(inline_closurecall.RewriteArrayOfConsts, "match", match)


def _makes_lists(block: Any) -> bool:
    from numba.cuda.core.ir import assign_types, expr_types

    values = (one.value for one in block.body if isinstance(one, assign_types))
    return any(isinstance(value, expr_types) and value.op == "build_list" for value in values)


def _has_to_inline(ir: Any) -> bool:
    """Return whether a function may define a function, make a list, or call reduce under any name."""
    from numba.cuda.core.ir import expr_types, freevar_types, global_types

    values = (*global_types, *freevar_types)
    for definitions in ir._definitions.values():
        for one in definitions:
            if isinstance(one, values):
                if any(getattr(one.value, name, None) == "reduce" for name in _NAMES):
                    return True
            elif isinstance(one, expr_types) and (one.op in _MADE or (one.op == "getattr" and one.attr == "reduce")):
                return True
    return False


def _unrolls(ir: Any) -> bool:
    """Return whether a function may call literal_unroll, under any name."""
    from numba.cuda.misc.special import literal_unroll

    definitions = [*chain.from_iterable(ir._definitions.values())]
    # Passes ask of each function again and again, so parts are told apart by their classes, which are looked at once.
    are_named = [*map(_are_named.__getitem__, map(type, definitions))]
    for one, is_named in zip(definitions, are_named, strict=True):
        if is_named:
            if one.value is literal_unroll:
                return True
        elif is_named is None and one.op == "getattr" and one.attr == "literal_unroll":
            return True
    return False


class _Named(dict[type, "bool | None"]):
    """Whether objects of a class are values that a name outside of the function stands for; None of expressions."""

    def __missing__(self, kind: type) -> bool | None:
        from numba.cuda.core.ir import expr_types, freevar_types, global_types

        found = issubclass(kind, (*global_types, *freevar_types)) or (None if issubclass(kind, expr_types) else False)
        self[kind] = found
        return found


_are_named = _Named()


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

ENDS = Piece(
    name="ends",
    written_for={
        "numba.cuda.core.inline_closurecall:InlineClosureCallPass.run": ("85 lines, a7d2ba07b5604f44",),
        "numba.cuda.core.inline_closurecall:InlineClosureCallPass._inline_reduction": ("36 lines, c920f4a9f9229951",),
        "numba.cuda.core.inline_closurecall:InlineClosureCallPass._inline_closure": ("15 lines, 59d141b583216d06",),
        "numba.cuda.core.inline_closurecall:_inline_arraycall": ("337 lines, b5835b859b57cb91",),
        "numba.cuda.core.inline_closurecall:_find_arraycall": ("51 lines, 8064b590f7249859",),
        "numba.cuda.core.inline_closurecall:RewriteArrayOfConsts.match": ("13 lines, 942cd87d7efa04bb",),
        "numba.cuda.core.inline_closurecall:_inline_const_arraycall": ("224 lines, 9b9f21344a5e89d6",),
        "numba.cuda.core.ir_utils:find_callname": ("86 lines, 6f4035f0c02e18ce",),
        "numba.cuda.core.typed_passes:NopythonRewrites.run_pass": ("26 lines, 91988fc1ed54c604",),
        "numba.cuda.core.untyped_passes:InlineClosureLikes.run_pass": ("24 lines, 670508d326a5d342",),
        "numba.cuda.core.rewrites.registry:RewriteRegistry.apply": ("43 lines, 3574019f4e7242ba",),
        "numba.cuda.core.rewrites.static_getitem:RewriteStringLiteralGetitems.match": ("15 lines, 8a9015602d34c143",),
        "numba.cuda.core.rewrites.static_getitem:RewriteStringLiteralSetitems.match": ("14 lines, 8118a4c8d0811966",),
    },
    install=_install_ends,
)
