"""constants: that a variable is not constant is said without an error's text, where nobody reads it.

Rewrites ask of each index and of each function that is called whether it is constant. If it is not, numba-cuda makes up
to three errors, which show the line of the source, in colours, and the rewrite drops them. An expression's first error
only has it ask in another way, so here it asks in that way at once; and a rewrite that drops the error gets a bare one.
"""

from __future__ import annotations

import sys
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.core.consts import ConstantInference
    from numba.cuda.core.errors import ConstantInferenceError
    from numba.cuda.core.ir import Expr, FunctionIR, Var
    from numba.cuda.core.rewrites import ir_print, static_getitem

    dropping = {
        one.match.__code__
        for one in (
            ir_print.RewritePrintCalls,
            static_getitem.RewriteConstGetitems,
            static_getitem.RewriteConstSetitems,
        )
    }

    def do_infer(inference: Any, name: Any) -> Any:
        if type(name) is str:
            found = inference._func_ir._definitions.get(name, ())
            if len(found) == 1 and type(found[0]) is Expr:
                return inference._infer_expr(found[0])
        return original(inference, name)

    def infer_constant(function: Any, variable: Any) -> Any:
        if type(variable) is Var:
            known = function._consts._cache.get(variable.name)
            is_failure = known is not None and not known[0] and known[1][0] is ConstantInferenceError
            if is_failure and sys._getframe(1).f_code in dropping:
                raise ConstantInferenceError.__new__(ConstantInferenceError)
        return infer_original(function, variable)

    original = replace(ConstantInference, "_do_infer", do_infer)
    infer_original = replace(FunctionIR, "infer_constant", infer_constant)


PIECE = Piece(
    name="constants",
    written_for={
        "numba.cuda.core.consts:ConstantInference._do_infer": ("16 lines, 0d88770ef7b30b6c",),
        "numba.cuda.core.consts:ConstantInference.infer_constant": ("22 lines, 4f3ef3978854dbc5",),
        "numba.cuda.core.ir:FunctionIR.get_definition": ("22 lines, eeb323529f27359b",),
        "numba.cuda.core.ir:FunctionIR.infer_constant": ("7 lines, 752dc211eade9d50",),
        "numba.cuda.core.ir:Expr.infer_constant": ("2 lines, 14866ca92c705d32",),
        "numba.cuda.core.rewrites.ir_print:RewritePrintCalls.match": ("24 lines, a641e6549b808533",),
        "numba.cuda.core.rewrites.static_getitem:RewriteConstGetitems.match": ("14 lines, 9bf85bc814530980",),
        "numba.cuda.core.rewrites.static_getitem:RewriteConstSetitems.match": ("13 lines, dc14c620111db093",),
    },
    install=_install,
)
