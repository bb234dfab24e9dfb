"""taking: records each value that numba-cuda's compiler takes from Python in the compile's Reads.

The compiler takes globals and closures' variables when it turns bytecode into its own form, attributes of modules and
classes when it infers types and lowers, and the content of arrays when it writes it into the code.
"""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.frontend.kept.drafts import Takes
from gridjit.compiler.key.foreign import array_digest
from gridjit.compiler.source.objects import MISSING


def record_reads(reads: Takes) -> None:
    """Record in reads the values that the compiler takes, until the changes are undone."""
    _record_functions(reads)
    _record_names(reads)
    _record_attributes(reads)
    _record_constant_attributes(reads)
    _record_contents(reads)


def _record_functions(reads: Takes) -> None:
    from numba.cuda.core.interpreter import Interpreter

    def interpret(interpreter: Any, bytecode: Any) -> Any:
        reads.take_function(interpreter.func_id.func)
        return original(interpreter, bytecode)

    original = replace(Interpreter, "interpret", interpret)


def _record_names(reads: Takes) -> None:
    from numba.cuda.core import ir
    from numba.cuda.core.interpreter import Interpreter

    def get_global_value(interpreter: Any, name: str) -> Any:
        value = global_original(interpreter, name)
        reads.take_global(interpreter.func_id.func, name, MISSING if value is ir.UNDEFINED else value)
        return value

    def get_closure_value(interpreter: Any, index: int) -> Any:
        value = free_original(interpreter, index)
        function: FunctionType = interpreter.func_id.func
        name, cells = function.__code__.co_freevars[index], function.__closure__ or ()
        reads.take_free(function, name, cells[index], MISSING if value is ir.UNDEFINED else value)
        return value

    global_original = replace(Interpreter, "get_global_value", get_global_value)
    free_original = replace(Interpreter, "get_closure_value", get_closure_value)


def _record_attributes(reads: Takes) -> None:
    """Take a module's attribute once for both its type and its value, which could differ otherwise."""
    from numba.cuda import types
    from numba.cuda.core.base import BaseContext as TargetContext
    from numba.cuda.core.imputils import impl_ret_borrowed
    from numba.cuda.typing.context import BaseContext as TypingContext

    def resolve_module_constants(context: Any, module: Any, name: str) -> Any:
        value = reads.take_attribute(module.pymod, name)
        try:
            return context.resolve_value_type(value)
        except ValueError:
            return None

    def get_getattr(context: Any, owner: Any, name: str) -> Any:
        if not isinstance(owner, types.Module) or (owner, name) in context.nonconst_module_attrs:
            return original(context, owner, name)
        kind = context.typing_context.resolve_module_constants(owner, name)
        if kind is None or isinstance(kind, types.Dummy):
            return None  # a function, a class, a module: there is nothing to lower
        value = reads.take_attribute(owner.pymod, name)

        def lower(context: Any, builder: Any, *_: Any) -> Any:
            return impl_ret_borrowed(context, builder, kind, context.get_constant_generic(builder, kind, value))

        return lower

    replace(TypingContext, "resolve_module_constants", resolve_module_constants)
    original = replace(TargetContext, "get_getattr", get_getattr)


def _record_constant_attributes(reads: Takes) -> None:
    from numba.cuda.core.consts import ConstantInference

    def infer_getattr(inference: Any, value: Any, expression: Any) -> Any:
        if isinstance(value, type) and isinstance(inspect.getattr_static(value, expression.attr, None), property):
            return inference._fail(
                expression
            )  # what its objects have, such as the x of cuda.threadIdx, is not a constant
        if isinstance(value, ModuleType | type) and hasattr(value, expression.attr):
            return reads.take_attribute(value, expression.attr)
        return original(inference, value, expression)

    original = replace(ConstantInference, "_infer_getattr", infer_getattr)


def _record_contents(reads: Takes) -> None:
    """Write arrays into the code from a copy, so that the code has the recorded bytes."""
    from numba.cuda.target import CUDATargetContext

    def make_constant_array(context: Any, builder: Any, kind: Any, array: Any) -> Any:
        copied = _copied(array)
        reads.take_content(array, array_digest(copied))
        return original(context, builder, kind, copied)

    original = replace(CUDATargetContext, "make_constant_array", make_constant_array)


def _copied(array: Any) -> Any:
    """Return a copy of an array with the same strides; one with gaps is copied without them, as the compiler does."""
    import numpy as np

    if any(stride < 0 for stride in array.strides) or not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    content = bytearray(array.tobytes(order="A"))
    return np.ndarray(array.shape, array.dtype, content, strides=array.strides) if content else array
