"""Computes the shapes of shared and local arrays in a kernel's numba IR, before types are inferred.

numba takes a number or a global for a shape, and no arithmetic with them, as in `cuda.shared.array(TILE + 1, ...)`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, TypeAlias

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.static_rewrite import static_value

# A definition of numba's IR for a variable.
Define: TypeAlias = Callable[[Any], Any]

_OPERATORS: Final = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod})
_LARGEST: Final = 2**31  # of operands


@functools.cache
def install() -> None:
    """Register the rewrite with numba-cuda; once per process."""
    numba_cuda()
    from numba.cuda import stubs
    from numba.cuda.core import ir
    from numba.cuda.core.errors import TypingError
    from numba.cuda.core.ir_utils import get_definition, guard
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    makers = (stubs.shared.array, stubs.local.array)

    @register_rewrite("before-inference")
    class ComputeShapes(Rewrite):  # type: ignore[misc]  # numba is untyped
        """Turns `cuda.shared.array(gridjit.static.blockDim.x * 2, ...)` into an array of a constant shape."""

        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            self._block, self._calls = block, {}
            define = functools.partial(get_definition, func_ir)
            for statement in block.find_insts(ir.Assign):
                value = statement.value
                if not (isinstance(value, ir.Expr) and value.op == "call"):
                    continue
                if guard(_callee, value.func, define, ir) not in makers:
                    continue
                if (given := next(iter(value.args), None) or dict(value.kws).get("shape")) is None:
                    continue
                number = functools.partial(_number, define, lambda one: static_value(func_ir, one, ir, TypingError), ir)
                constants = guard(_computed, given, define, number, ir)
                if constants is None:
                    continue
                if constants == (0,):
                    raise TypingError("array length <= 0", loc=statement.loc)
                self._calls[id(statement)] = given, constants
            return bool(self._calls)

        def apply(self) -> Any:
            block = self._block.copy()
            block.clear()
            for statement in self._block.body:
                if (found := self._calls.get(id(statement))) is not None:
                    given, constants = found
                    shape = self._assigned(block, statement, constants, given)
                    call = statement.value
                    args = [shape if one is given else one for one in call.args]
                    kws = [(name, shape if one is given else one) for name, one in call.kws]
                    value = ir.Expr.call(call.func, args, kws, call.loc)
                    statement = ir.Assign(value, statement.target, statement.loc)
                block.append(statement)
            return block

        def _assigned(self, block: Any, statement: Any, constants: tuple[int, ...], given: Any) -> Any:
            """Return a new variable with a shape, after the statements that assign it."""

            def assigned(value: Any) -> Any:
                variable = given.scope.redefine("$shape", statement.loc)
                block.append(ir.Assign(value, variable, statement.loc))
                return variable

            numbers = [assigned(ir.Const(one, statement.loc)) for one in constants]
            return numbers[0] if len(numbers) == 1 else assigned(ir.Expr.build_tuple(numbers, statement.loc))

    _ = ComputeShapes


def _callee(variable: Any, define: Define, ir: Any) -> Any:
    """Return the Python object that is called: a global, or an attribute of a module or a class."""
    value = define(variable)
    if isinstance(value, ir.Global | ir.FreeVar):
        return value.value
    if isinstance(value, ir.Expr) and value.op == "getattr":
        owner = _callee(value.value, define, ir)
        return getattr(owner, value.attr, None) if isinstance(owner, ModuleType | type) else None
    return None


def _computed(variable: Any, define: Define, number: Callable[[Any], int | None], ir: Any) -> tuple[int, ...] | None:
    """Return the numbers of a shape of which arithmetic is a part; None for any other shape."""
    value = define(variable)
    items = value.items if isinstance(value, ir.Expr) and value.op == "build_tuple" else [variable]
    if not any(isinstance(one := define(item), ir.Expr) and one.op == "binop" for item in items):
        return None
    numbers = [number(item) for item in items]
    return None if None in numbers else tuple(one for one in numbers if one is not None)


def _number(define: Define, static: Callable[[Any], int | None], ir: Any, variable: Any) -> int | None:
    """Return a variable's number, if it is known now."""
    value = define(variable)
    if isinstance(value, ir.Const | ir.Global | ir.FreeVar) and type(value.value) is int:
        return int(value.value)
    if not (isinstance(value, ir.Expr) and value.op == "binop"):
        return static(value)
    left, right = (_number(define, static, ir, one) for one in (value.lhs, value.rhs))
    if left is None or right is None or value.fn not in _OPERATORS or max(abs(left), abs(right)) > _LARGEST:
        return None
    try:
        return int(value.fn(left, right))
    except ZeroDivisionError:
        return None
