"""modules: numba-cuda's modules of floats of 16 and 8 bits, and the signs that a compile needs them.

A compile that began without them and finds a variable of one of their types stops, to begin again with them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gridjit.base.forking import held, section
from gridjit.base.interrupts import uninterrupted
from gridjit.compiler.frontend.faster.piece import Replace
from gridjit.compiler.numba_state.first_modules import NARROW_FLOATS
from gridjit.compiler.process.collecting import making_what_stays
from gridjit.compiler.process.refusing import refuse_calls
from gridjit.compiler.values.signature import Signature

NAMES = NARROW_FLOATS
MODULES = frozenset((*(f"numba.cuda.{name}" for name in NAMES), *(f"numba.cuda._internal.cuda_{n}" for n in NAMES)))
# In the names of types: numba's float16 and __nv_bfloat16, gridjit's float16, bfloat16 and float8_e5m2.
_FLOAT16, _FLOAT8 = "float16", "float8"


def are_imported() -> bool:
    """Return whether any of them is imported; a kernel may then use its definitions."""
    return not MODULES.isdisjoint(sys.modules)


def import_modules() -> list[ModuleType]:
    """Return the modules whose registries contexts install."""
    return [*map(_imported, NAMES)]


def named(name: str) -> ModuleType:
    """Return the module of a name in NAMES, for a program that may not have compiled anything; numba is imported."""
    if f"numba.cuda.{name}" not in sys.modules and not held(section()):
        uninterrupted(lambda: making_what_stays(lambda: _import(name)))
    return _imported(name)


def _import(name: str) -> None:
    with section():
        _imported(name)


# Modules whose functions refuse calls by plain Python.
_refusing: dict[str, ModuleType] = {}


def _imported(name: str) -> ModuleType:
    module = importlib.import_module(f"numba.cuda.{name}")
    if _refusing.get(name) is not module:
        refuse_calls(module, f"{name}.")
        _refusing[name] = module
    return module


def is_of_narrow_floats(numbas: object) -> bool:
    """Return whether a numba type is a float of 16 bits, or made of one, or a text that may be its name.

    Floats of 8 bits are not there before the modules are.
    """
    return _FLOAT16 in getattr(numbas, "name", "")


def takes_narrow_floats(signature: Signature) -> bool:
    """Return whether a kernel's arguments are floats of 16 or 8 bits, or made of them."""
    text = str(signature)
    return _FLOAT16 in text or _FLOAT8 in text


class NarrowFloatMetError(Exception):
    """A variable of the kernel, or of its callees, is a narrow float: the compile is to begin again with them."""


def stop_at_narrow_floats(replace: Replace, are_left_out: Callable[[], bool]) -> None:
    """Make type inference raise NarrowFloatMetError for a narrow float, if they are left out then."""
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
