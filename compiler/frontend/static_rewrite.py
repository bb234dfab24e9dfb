"""Replaces gridjit.static's names in a kernel's numba IR with the launch's integers, before types are inferred."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.source.code_place import CodePlace
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.view.static import StaticDim3, StaticInt


@functools.cache
def install() -> None:
    """Register the rewrite and the types it needs with numba-cuda; once per process."""
    numba_cuda()
    from numba.cuda import types
    from numba.cuda.core import ir
    from numba.cuda.core.errors import TypingError
    from numba.cuda.core.ir_utils import guard
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.typing.typeof import typeof_impl

    opaque = types.Dummy("gridjit.static")

    for static_type in (StaticDim3, StaticInt):
        typeof_impl.register(static_type)(lambda value, context: opaque)

    @register_rewrite("before-inference")
    class ReplaceStatic(Rewrite):  # type: ignore[misc]  # numba is untyped
        """Turns `gridjit.static.blockDim.x` and `gridjit.static.sharedmem` into integer constants."""

        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            self._block = block
            self._constants = {}
            for statement in block.find_insts(ir.Assign):
                if not isinstance(statement.value, ir.Global | ir.FreeVar | ir.Expr):
                    continue
                value = guard(static_value, func_ir, statement.value, ir, TypingError)
                if value is not None:
                    self._constants[id(statement)] = value
            return bool(self._constants)

        def apply(self) -> Any:
            block = self._block.copy()
            block.clear()
            for statement in self._block.body:
                if (value := self._constants.get(id(statement))) is None:
                    block.append(statement)
                else:
                    block.append(ir.Assign(ir.Const(value, statement.loc), statement.target, statement.loc))
            return block


def static_value(func_ir: Any, value: Any, ir: Any, typing_error: Any) -> int | None:
    """Return the integer of a static name that is a definition; None for another value."""
    try:
        found = _python_value(func_ir, value, ir)
        if isinstance(found, StaticInt):
            return found.value(_where(func_ir, value))
        if isinstance(value, ir.Expr) and value.op == "getattr":
            owner = _python_value(func_ir, _definition(func_ir, value.value), ir)
            return owner.value(value.attr, _where(func_ir, value)) if isinstance(owner, StaticDim3) else None
    except ConfigError as error:
        raise typing_error(str(error), loc=value.loc) from error
    return None


def _where(func_ir: Any, definition: Any) -> str:
    identity, loc = func_ir.func_id, definition.loc
    return str(CodePlace.at_line(loc.filename, loc.line, identity.func_qualname, identity.code))


def _python_value(func_ir: Any, definition: Any, ir: Any) -> Any:
    """Return the Python object that a definition names: a global, a closure's cell, or an attribute of a module."""
    if isinstance(definition, ir.Global | ir.FreeVar):
        return definition.value
    if isinstance(definition, ir.Expr) and definition.op == "getattr":
        owner = _python_value(func_ir, _definition(func_ir, definition.value), ir)
        return getattr(owner, definition.attr, None) if isinstance(owner, ModuleType) else None
    return None


def _definition(func_ir: Any, variable: Any) -> Any:
    from numba.cuda.core.ir_utils import get_definition

    return get_definition(func_ir, variable)
