"""passes: counts the time of numba-cuda's passes as phases of the kernel's compile, in familiar groups."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.values.phases import phase

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
