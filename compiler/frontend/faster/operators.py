"""operators: what numba-cuda asks about operators and operands is only asked where the answer is not known.

For each operator, numba-cuda first looks for the NumPy loop that fits the operands, and rejects it if no operand is an
array. For numbers, that is always the outcome, so it is returned at once.

To lower an operator, it tries to make a literal type of each operand, even if that is not a constant: an error is
raised and its text coloured for each. Here, such operands get no type.

It first takes Python's own functions, operators among them, for values: buffers, other libraries' arrays, functions of
cffi, and objects that numba itself has a type for. They are none of these, so a function that numba implements is
looked up at once.
"""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install_arrays(replace: Replace) -> None:
    from numba.cuda import types
    from numba.cuda.typing.npydecl import NumpyRulesArrayOperator

    literals = (types.BooleanLiteral, types.IntegerLiteral)
    numbers = frozenset((types.Boolean, types.Integer, types.Float, types.Complex, *literals))

    def generic(template: Any, args: Any, kws: Any) -> Any:
        if not kws and len(args) == 2 and type(args[0]) in numbers and type(args[1]) in numbers:
            return None
        return original(template, args, kws)

    original = replace(NumpyRulesArrayOperator, "generic", generic)


def _install_constants(replace: Replace) -> None:
    from numba.cuda import lowering
    from numba.cuda.core.ir import UNDEFINED

    def literal_or_omitted(value: Any) -> Any:
        return None if value is UNDEFINED else original(value)

    original = replace(lowering, "_lit_or_omitted", literal_or_omitted)


def _install_functions(replace: Replace) -> None:
    from numba.core.typing.typeof import typeof_impl as cores
    from numba.cuda.typing.context import BaseContext
    from numba.cuda.typing.typeof import typeof_impl

    if any(types.dispatch(BuiltinFunctionType) is not types.__wrapped__ for types in (typeof_impl, cores)):
        return  # an extension types such values

    def resolve_value_type(context: Any, value: Any) -> Any:
        if type(value) is BuiltinFunctionType and (found := context._get_global_type(value)) is not None:
            return found
        return original(context, value)

    original = replace(BaseContext, "resolve_value_type", resolve_value_type)


ARRAYS = Piece(
    name="array_operators",
    written_for={
        "numba.cuda.typing.npydecl:NumpyRulesArrayOperator.generic": ("21 lines, e9255f05d38f07a1",),
        "numba.cuda.typing.npydecl:Numpy_rules_ufunc.generic": ("90 lines, 8a31a5c220f8a564",),
        "numba.cuda.typing.npydecl:Numpy_rules_ufunc._handle_inputs": ("70 lines, 19531d930c8d7514",),
    },
    install=_install_arrays,
)

CONSTANTS = Piece(
    name="constant_operands",
    written_for={
        "numba.cuda.lowering:_lit_or_omitted": ("15 lines, a956cae4acdd4d3b",),
        "numba.cuda.lowering:Lower.lower_binop": ("71 lines, cbbb75100b244fd4",),
    },
    install=_install_constants,
)

FUNCTIONS = Piece(
    name="functions",
    written_for={
        "numba.cuda.typing.context:BaseContext.resolve_value_type": ("24 lines, c88766e103ad3a03",),
        "numba.cuda.typing.context:BaseContext._get_global_type": ("6 lines, 2d2674a03369382b",),
        "numba.cuda.typing.context:BaseContext._lookup_global": ("13 lines, 79ef8534f6bf9b9e",),
        "numba.cuda.typing.typeof:typeof": ("11 lines, 5e2281ce53255028",),
        "numba.cuda.typing.typeof:typeof_impl.__wrapped__": ("48 lines, 4920eb4b78ed1560",),
        "numba.cuda.typing.typeof:_typeof_buffer": ("15 lines, bc03739939ba00e2",),
        "numba.core.typing.typeof:typeof_impl.__wrapped__": ("23 lines, c4fe3f900f0f2110",),
    },
    install=_install_functions,
)
