"""array_operators: NumPy's rules for operators are asked about arrays only.

For each operator, numba-cuda first looks for the NumPy loop that fits the operands, and rejects it if none of
them is an array. For numbers, that is always the outcome, so it is returned at once.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda import types
    from numba.cuda.typing.npydecl import NumpyRulesArrayOperator

    literals = (types.BooleanLiteral, types.IntegerLiteral)
    numbers = frozenset((types.Boolean, types.Integer, types.Float, types.Complex, *literals))

    def generic(template: Any, args: Any, kws: Any) -> Any:
        if not kws and len(args) == 2 and type(args[0]) in numbers and type(args[1]) in numbers:
            return None
        return original(template, args, kws)

    original = replace(NumpyRulesArrayOperator, "generic", generic)


PIECE = Piece(
    name="array_operators",
    written_for={
        "numba.cuda.typing.npydecl:NumpyRulesArrayOperator.generic": ("21 lines, e9255f05d38f07a1",),
        "numba.cuda.typing.npydecl:Numpy_rules_ufunc.generic": ("90 lines, 8a31a5c220f8a564",),
        "numba.cuda.typing.npydecl:Numpy_rules_ufunc._handle_inputs": ("70 lines, 19531d930c8d7514",),
    },
    install=_install,
)
