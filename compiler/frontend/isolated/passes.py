"""passes: numba-cuda's passes in a kernel's compile: a backend pass that records reads, and passes' times by phase."""

from __future__ import annotations

import functools
from typing import Any

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.values.phases import phase
from gridjit.compiler.view.config import current_view

INFERENCE, LOWERING = "type inference", "lowering"
BEFORE, AFTER = "untyped passes", "typed passes"
_LOWERING = ("lowering", "backend", "create_library")


def time_passes() -> None:
    """Count each pass for its phase, also passes of a kernel's callees, until that is undone."""
    from numba.cuda.core.compiler_machinery import PassManager

    def run(manager: Any, index: int, found: Any, state: Any) -> Any:
        with phase(_phase_of(found.name(), state)):
            return original(manager, index, found, state)

    original = replace(PassManager, "_runPass", run)


def _phase_of(name: str, state: Any) -> str:
    """Return the phase that a pass belongs to."""
    if name.endswith("type_inference"):
        return INFERENCE
    if any(word in name for word in _LOWERING):
        return LOWERING
    return BEFORE if state.typemap is None else AFTER


SENSITIVE = "launch_config_sensitive"


@functools.cache
def kernel_pipeline() -> Any:
    """Return the compiler class for kernels."""
    numba_cuda()
    from numba.cuda.compiler import CUDABackend, CUDACompiler
    from numba.cuda.core.compiler_machinery import register_pass

    @register_pass(mutates_CFG=True, analysis_only=False)
    class FootprintBackend(CUDABackend):  # type: ignore[misc]  # numba is untyped
        """Ends a kernel's compile: a mark in the metadata goes to the view, and marks and facts to the metadata."""

        _name = "gridjit_footprint_backend"

        def run_pass(self, state: Any) -> bool:
            record_sensitivity(state)
            return bool(super().run_pass(state))

    class KernelCompiler(CUDACompiler):  # type: ignore[misc]  # numba is untyped
        """CUDACompiler with the last pass replaced."""

        def define_cuda_lowering_pipeline(self, state: Any) -> Any:
            manager = super().define_cuda_lowering_pipeline(state)
            manager.passes[:] = [
                (FootprintBackend, text) if kind is CUDABackend else (kind, text) for kind, text in manager.passes
            ]
            manager.finalize()
            return manager

    return KernelCompiler


def record_sensitivity(state: Any) -> None:
    """Make state.metadata and the view agree on whether the kernel depends on its launch, and on which fields."""
    view = current_view()
    metadata = state.metadata
    if view is None or metadata is None:
        return
    if metadata.get(SENSITIVE):
        view.mark_kernel_as_launch_config_sensitive()
    if view.is_kernel_launch_config_sensitive():
        metadata[SENSITIVE] = True
        metadata["launch_config_footprint"] = str(view.footprint)
