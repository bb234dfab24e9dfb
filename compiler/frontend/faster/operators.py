"""operators: numba-cuda's questions on operators and operands are only asked where the answer is not known.

To lower an operator, numba-cuda tries to make a literal type of each operand, even if that is not a constant: an error
is raised and its text coloured for each. Here, such operands get no type.

numba-cuda first takes Python's own functions, operators among them, for values: buffers, other libraries' arrays,
functions of cffi, and objects that numba itself has a type for. They are none of these, so a function that numba
implements is looked up at once.
"""

from __future__ import annotations

from types import BuiltinFunctionType
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


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
        return  # an extension types builtin functions

    def resolve_value_type(context: Any, value: Any) -> Any:
        if type(value) is BuiltinFunctionType and (found := context._get_global_type(value)) is not None:
            return found
        return original(context, value)

    original = replace(BaseContext, "resolve_value_type", resolve_value_type)


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
