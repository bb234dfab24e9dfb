"""Imports numba-cuda on a machine that may have neither a GPU, a driver nor any CUDA library."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gridjit.compiler.errors import CompileError
from gridjit.forking import held, section
from gridjit.interrupts import uninterrupted

# What numba-cuda asks the CUDA runtime library while it is imported, answered where there is none: CUDA 13.0.
_CUDA_VERSION = 13000


@functools.cache
def numba_cuda() -> ModuleType:
    """Return the module numba.cuda, imported on the first call; raises CompileError where it is its simulator."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        raise CompileError(
            "NUMBA_ENABLE_CUDASIM replaces numba-cuda's compiler by its simulator; unset it: gridjit compiles kernels "
            "for the host where there is no GPU"
        )
    if _is_being_imported() or held(section()):
        _import()
    else:
        uninterrupted(_import)
    return sys.modules["numba.cuda"]


def _import() -> None:
    with section(), _runtime_version_answered():
        import numba.cuda  # noqa: F401


def _is_being_imported() -> bool:
    """Return whether a thread is in the middle of importing numba: if it is this one, no other may wait for that."""
    modules = (sys.modules.get(name) for name in ("numba", "numba.cuda"))
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in modules)


@contextlib.contextmanager
def _runtime_version_answered() -> Iterator[None]:
    """While numba-cuda is imported, let the version query succeed where libcudart is missing."""
    from cuda.bindings import runtime

    original = runtime.getLocalRuntimeVersion

    def answered() -> Any:
        try:
            return original()
        except Exception:  # cuda.pathfinder raises a type of its own for a missing library
            return runtime.cudaError_t.cudaSuccess, _CUDA_VERSION

    runtime.getLocalRuntimeVersion = answered
    try:
        yield
    finally:
        runtime.getLocalRuntimeVersion = original
