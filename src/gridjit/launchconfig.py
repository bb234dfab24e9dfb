"""The launch configuration during compilation, as numba.cuda.launchconfig has it."""

from gridjit.runtime.specialize.capture import (
    capture_compile_config,
    current_launch_config,
    ensure_current_launch_config,
)

__all__ = ["capture_compile_config", "current_launch_config", "ensure_current_launch_config"]
