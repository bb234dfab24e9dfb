"""Imports numba-cuda on a machine that may have neither a GPU, a driver nor any CUDA library, and its extensions."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from gridjit.compiler.entry_points import note_loaded
from gridjit.compiler.errors import CompileError
from gridjit.compiler.view import visible

# What numba-cuda asks the CUDA runtime library while it is imported, answered where there is none: CUDA 13.0.
_CUDA_VERSION = 13000
# Seconds to wait for another thread that loads extensions; they run code of their own, which may wait for this thread.
_PATIENCE = 60.0


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


class _Loading:
    """Who loads the installed extensions, and whether that is done."""

    def __init__(self) -> None:
        self.done = False
        self.lock = threading.RLock()

    def free(self) -> None:
        """Let a forked child load what no thread in it is loading any more."""
        self.lock = threading.RLock()


_loading = _Loading()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _loading.free())


def load_installed_extensions() -> None:
    """Have numba load the extensions that are installed, if that was not done in this process.

    One that fails is a warning that names it, as for numba. What they do while they are loaded sees no launch, and is
    no part of what the kernel read that is about to be compiled.
    """
    if _loading.done:
        return
    held = _loading.lock.acquire(timeout=_PATIENCE)
    try:
        if not _loading.done and note_loaded():
            numba_cuda()
            from numba.cuda.core import entrypoints

            try:
                with visible(None):
                    entrypoints.init_all()
            except Exception as error:  # a description that nobody can read, of any distribution
                warnings.warn(f"numba cannot look for extensions to load: {error!r}", stacklevel=2)
        _loading.done = True
    finally:
        if held:
            _loading.lock.release()
