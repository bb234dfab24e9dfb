"""Which modules are libraries: leaves of a fingerprint, covered by the toolchain's versions instead of their code."""

from __future__ import annotations

import os
import sys
from functools import cache

# Every one of these has its version in gridjit.compiler.toolchain. "cuda" as a whole is not: it is a namespace that
# others put packages into.
LIBRARIES = ("numba", "numba_cuda", "numpy", "llvmlite", "gridjit", "cuda.bindings", "cuda.core", "cuda.pathfinder")
_PREFIXES = tuple(f"{name}." for name in LIBRARIES)
_STDLIB_FOLDER = os.path.dirname(os.__file__)


def is_library(module: str) -> bool:
    """Return whether the module of that name is one whose code the toolchain's versions stand for."""
    if module in LIBRARIES or module.startswith(_PREFIXES):
        return True
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return False
    return _is_stdlib(top, top in sys.modules, getattr(sys.modules.get(top), "__file__", None))


@cache
def _is_stdlib(top: str, loaded: bool, file: str | None) -> bool:
    # A user's own code.py or queue.py has the name of a standard module, but not its place.
    if file is None:
        return loaded
    folder, inside, rest = file.partition(_STDLIB_FOLDER + os.sep)
    return not folder and bool(inside) and not {"site-packages", "dist-packages"} & set(rest.split(os.sep))
