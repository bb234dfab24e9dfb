"""modules: numba-cuda's modules of floats of 16 and 8 bits, and what tells that a compile has to do with them."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from gridjit.compiler.signature import Signature

# As numba-cuda's contexts name them, in the order in which they install their registries.
NAMES = ("fp16", "bf16", "fp8")
MODULES = frozenset((*(f"numba.cuda.{name}" for name in NAMES), *(f"numba.cuda._internal.cuda_{n}" for n in NAMES)))
# How the names of all modules begin that are imported with them, and hardly without.
WITH_NARROW_FLOATS = (*(f"numba.cuda.{name}" for name in NAMES), "numba.cuda._internal", "numba.types")
# In the names of types: numba's float16 and __nv_bfloat16, gridjit's float16, bfloat16 and float8_e5m2.
_FLOAT16, _FLOAT8 = "float16", "float8"


def are_imported() -> bool:
    """Return whether any of them is imported; a kernel may then use what it defines."""
    return not MODULES.isdisjoint(sys.modules)


def import_modules() -> list[ModuleType]:
    """Return the modules whose registries contexts install."""
    return [importlib.import_module(f"numba.cuda.{name}") for name in NAMES]


def is_of_narrow_floats(numbas: object) -> bool:
    """Return whether a numba type is one of 16 bits, or made of one, or a text that may be its name.

    Those of 8 bits are not there before the modules are.
    """
    return _FLOAT16 in getattr(numbas, "name", "")


def takes_narrow_floats(signature: Signature) -> bool:
    """Return whether a kernel's arguments are such floats, or made of them."""
    text = str(signature)
    return _FLOAT16 in text or _FLOAT8 in text
