"""Names of gridjit that numba-cuda takes for its own: the module gridjit.cuda, and gridjit.jit's device functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.signatures import parsed
from gridjit.compiler.values.options import Options


def module_type() -> Any:
    """Return numba's type of the module gridjit.cuda in kernels, which is numba.cuda's."""
    cuda = numba_cuda()
    from numba.cuda import types

    return types.Module(cuda)


def dtype_of_type(kind: Any) -> Any:
    """Return the NumPy dtype of a numba type."""
    numba_cuda()
    from numba.cuda.np import numpy_support

    return numpy_support.as_dtype(kind)


@functools.cache
def instructions() -> dict[str, Any]:
    """Return gridjit's own functions of kernels, gridjit.griddepcontrol's; a compile makes them before it begins."""
    return {name: _instruction(name, f"griddepcontrol.{name};") for name in ("wait", "launch_dependents")}


def _instruction(name: str, ptx: str) -> Any:
    """Return a function of kernels that is one PTX instruction, across which nothing in memory is moved."""
    numba_cuda()
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    def typed(_: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.asm(ir.FunctionType(ir.VoidType(), []), ptx, "~{memory}", [], True)
            return context.get_dummy_value()

        return types.void(), lower

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


@functools.cache
def values_of_halves() -> None:
    """Implement a float16's truth, False for zeros, and a program's float16 as a constant; once per process.

    numba-cuda, which holds its bits in an integer, compares that with 0.0 and writes 0.1 for its bits: no compiler
    takes such code.
    """
    numba_cuda()
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda._internal.cuda_fp16 import target_registry

    def is_true(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        kind = ir.IntType(16)
        without_sign = builder.and_(arguments[0], ir.Constant(kind, 0x7FFF))
        return builder.icmp_unsigned("!=", without_sign, ir.Constant(kind, 0))

    def constant(_: Any, __: Any, ___: Any, value: Any) -> Any:
        return ir.Constant(ir.IntType(16), int(np.float16(value).view(np.uint16)))

    target_registry.lower(bool, types.float16)(is_true)
    target_registry.lower_constant(types.float16)(constant)


@functools.cache
def unsigned_ranges() -> None:
    """Swap the operands of the addition by which a range of uint64 advances; once per process.

    The order tells it apart from a signed range in the IR. A signed range never overflows, and LLVM relies on that on a
    GPU; an unsigned range may pass the greatest signed number.
    """
    numba_cuda()
    from numba.cuda import types
    from numba.cuda.core.imputils import RefType, iternext_impl
    from numba.cuda.cpython.rangeobj import registry

    def advance(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
        state = context.make_helper(builder, signature.args[0], arguments[0])
        count = builder.load(state.count)
        more = builder.icmp_signed(">", count, count.type(0))
        result.set_valid(more)
        with builder.if_then(more):
            value = builder.load(state.iter)
            result.yield_(value)
            builder.store(builder.sub(count, count.type(1), flags=["nsw"]), state.count)
            builder.store(builder.add(state.step, value), state.iter)

    registry.lower("iternext", types.unsigned_range_iter64_type)(iternext_impl(RefType.BORROWED)(advance))


def correct_draws(replace: Callable[[Any, str, Any], Any]) -> None:
    """Let a compile call the functions of draws in place of numba.cuda.random's."""
    from numba.core.dispatcher import Dispatcher
    from numba.cuda.target import CUDATypingContext

    def resolve_value_type(context: Any, value: Any) -> Any:
        if isinstance(value, Dispatcher) and value.py_func.__module__ == "numba.cuda.random":
            from gridjit.compiler.frontend.bindings.draws import IN_PLACE

            value = IN_PLACE.get(value.py_func, value)
        return original(context, value)

    original: Any = replace(CUDATypingContext, "resolve_value_type", resolve_value_type)


def keep_functions_in_tuples(put: Callable[[Any, str, Any], None]) -> None:
    """Let literal_unroll go over tuples of device functions.

    numba-cuda copies the loop, and would copy a function along with its type: that copy is gone at once. To functions
    with one declared signature it gives a type in common, which kernels cannot call.
    """
    from numba.cuda.dispatcher import CUDADispatcher
    from numba.cuda.types import Type

    put(Type, "__deepcopy__", lambda kind, _: kind)
    put(CUDADispatcher, "get_function_type", lambda _: None)


def parsing(declare: Callable[..., Any]) -> Callable[..., Any]:
    """Return numba-cuda's declare_device, for which a signature that is a text is parsed: it would evaluate it."""

    @functools.wraps(declare)
    def declare_device(name: str, sig: Any, *others: Any, **options: Any) -> Any:
        return declare(name, parsed(sig) if isinstance(sig, str) else sig, *others, **options)

    return declare_device


def device_dispatcher(function: Callable[..., Any], options: Options, signatures: Sequence[Any]) -> Any:
    """Return numba-cuda's dispatcher for a device function; its numba type lives only as long as it does."""
    numba_cuda()
    from numba.cuda.core.sigutils import normalize_signature
    from numba.cuda.dispatcher import CUDADispatcher

    declared = [normalize_signature(parsed(one) if isinstance(one, str) else one) for one in signatures]

    class DeclaredDispatcher(CUDADispatcher):  # type: ignore[misc]  # numba is untyped
        """Offers the declared signatures, and no other, to calls."""

        def get_call_template(self, args: Any, kws: Any) -> Any:
            for arguments, result in declared:
                self.compile_device(arguments, result)
            self._can_compile = False
            return super().get_call_template(args, kws)

    targetoptions = {
        "device": True,
        "debug": options.debug,
        "lineinfo": options.lineinfo,
        "opt": options.opt,
        "fastmath": bool(options.fastmath),
        # A cost model was asked before: numba's inliner takes it from the function that is called.
        "inline": options.inline if isinstance(options.inline, str) else "never",
        "forceinline": options.forceinline,
        "extensions": [],
        "link": (),
    }
    return (DeclaredDispatcher if declared else CUDADispatcher)(function, targetoptions=targetoptions)
