"""modules: numba-cuda's modules of floats of 16 and 8 bits, and the signs that a compile needs them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from gridjit.base.forking import held, section
from gridjit.base.interrupts import uninterrupted
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
