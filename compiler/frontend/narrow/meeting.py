"""meeting: a compile that began without the floats of 16 and 8 bits finds a variable of such a type, and stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Replace
from gridjit.compiler.frontend.narrow.leaving_out import are_left_out
from gridjit.compiler.frontend.narrow.modules import is_of_narrow_floats


class NarrowFloatMetError(Exception):
    """A variable of the kernel, or of its callees, is a narrow float: the compile is to begin again with them."""


def stop_at_narrow_floats(replace: Replace) -> None:
    """Make type inference raise NarrowFloatMetError for a narrow float, before the function is lowered."""
    from numba.cuda.core import typed_passes

    def infer(*given: Any, **options: Any) -> Any:
        found = inferred(*given, **options)
        if are_left_out():  # not in a compile inside this one
            for name, type_ in found.typemap.items():
                if is_of_narrow_floats(type_):
                    raise NarrowFloatMetError(f"{name} is of type {type_}")
        return found

    inferred = replace(typed_passes, "type_inference_stage", infer)


def in_numbas_own_compiles(replace: Replace, do: Callable[[Callable[[], Any]], Any]) -> None:
    """Run each compile that a program asks numba-cuda for, in the middle of ours, by do(compile_it).

    Functions that our compile calls come another way.
    """
    from numba.cuda import compiler
    from numba.cuda.dispatcher import _Kernel

    for owner, name in ((compiler, "compile_cuda"), (_Kernel, "__init__")):
        replace(owner, name, _done(do, getattr(owner, name)))


def _done(do: Callable[[Callable[[], Any]], Any], original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: do(lambda: original(*given, **named))
