"""Imports numba-cuda on a machine that may have neither a GPU, a driver nor any CUDA library."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gridjit.compiler.errors import CompileError

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
    with _runtime_version_answered():
        import numba.cuda
    return numba.cuda  # type: ignore[no-any-return]  # numba is untyped


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
