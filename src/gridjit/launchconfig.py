"""The launch configuration during compilation, as numba.cuda.launchconfig has it; ConfigView is its type."""

from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.specialize.capture import (
    capture_compile_config,
    current_launch_config,
    ensure_current_launch_config,
)

__all__ = ["ConfigView", "capture_compile_config", "current_launch_config", "ensure_current_launch_config"]
