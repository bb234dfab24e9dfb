"""Which modules are libraries: leaves of a fingerprint, covered by the toolchain's versions instead of their code."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType

# Every one of these has its version in gridjit.compiler.key.toolchain. "cuda" as a whole is not: it is a namespace that
# others put packages into.
LIBRARIES = ("numba", "numba_cuda", "numpy", "llvmlite", "gridjit", "cuda.bindings", "cuda.core", "cuda.pathfinder")
_PREFIXES = tuple(f"{name}." for name in LIBRARIES)
_NUMBAS = ("numba.", "numba_cuda.")
# numba-cuda's tests come in its package, but are programs: no version stands for what their functions refer to.
_PROGRAMS = ("numba.cuda.tests.",)
_STDLIB_FOLDER = os.path.dirname(os.__file__)


def is_library(module: str) -> bool:
    """Return whether the module of that name is one whose code the toolchain's versions stand for."""
    if module in LIBRARIES or module.startswith(_PREFIXES):
        return not module.startswith(_PROGRAMS)
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return False
    return _is_stdlib(top, top in sys.modules, getattr(sys.modules.get(top), "__file__", None))


def is_numbas(module: str) -> bool:
    """Return whether the module of that name is a part of numba or numba-cuda, which their tests are not."""
    return module.startswith(_NUMBAS) and not module.startswith(_PROGRAMS)


def is_library_module(module: ModuleType) -> bool:
    """Return whether module is a library's own, and not one that a program made and gave a library's name."""
    name = name_of_module(module)
    return is_library(name) and is_namespace_of(name, module.__dict__)


def name_of_module(module: ModuleType) -> str:
    """Return a module's name; "" for one that has none, or one that is not a text."""
    name = vars(module).get("__name__")
    return name if isinstance(name, str) else ""


def is_namespace_of(module: str, namespace: object) -> bool:
    """Return whether namespace is what a library's module of that name holds; programs give any name to theirs."""
    top = module.partition(".")[0]
    loaded = sys.modules.get(module)
    return top not in sys.stdlib_module_names or loaded is None or loaded.__dict__ is namespace


@cache
def _is_stdlib(top: str, loaded: bool, file: str | None) -> bool:
    # A user's own code.py or queue.py has the name of a standard module, but not its place.
    if file is None:
        return loaded
    folder, inside, rest = file.partition(_STDLIB_FOLDER + os.sep)
    return not folder and bool(inside) and not {"site-packages", "dist-packages"} & set(rest.split(os.sep))
