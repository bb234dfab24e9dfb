"""closures: the arguments of a function that a kernel defines, bound by Python's rules.

numba-cuda puts all of the function's defaults after a call's arguments, and ignores arguments that are given by name.
"""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter, Signature
from types import CodeType, FunctionType
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import replace


def bind_arguments() -> None:
    """Have a compile bind the arguments of functions that it inlines because a kernel defines them."""
    from numba.cuda.core import inline_closurecall, ir
    from numba.cuda.core.errors import TypingError

    def callee_args(call: Any, callee: Any, place: Any, function: Any) -> Any:
        if call.op != "call" or call.vararg or isinstance(callee, FunctionType):
            return original(call, callee, place, function)
        defaults = original(ir.Expr.call(call.func, (), (), call.loc), callee, place, function)
        code = callee.code if hasattr(callee, "code") else callee.__code__
        try:
            bound = _signature(code, defaults).bind(*call.args, **dict(call.kws))
        except TypeError as error:
            raise TypingError(f"{code.co_name}() {error}", call.loc) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    original = replace(inline_closurecall, "_get_callee_args", callee_args)


def _signature(code: CodeType, defaults: list[Any]) -> Signature:
    """Return a function's signature; raises TypeError if a call could give it any number of arguments."""
    if code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        raise TypeError("takes *args, **kws or arguments only by name, which functions that kernels define cannot")
    names = code.co_varnames[: code.co_argcount]
    filled = [*[Parameter.empty] * (len(names) - len(defaults)), *defaults]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Signature([Parameter(name, kind, default=value) for name, value in zip(names, filled, strict=True)])
