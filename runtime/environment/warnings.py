"""PerformanceWarning: an operation works, but costs more than necessary. numba-cuda's switches turn it off or on."""

from __future__ import annotations

from typing import ClassVar

from gridjit.base.messages import warn
from gridjit.compiler.key.numba_settings import is_asked_for, is_on
from gridjit.compiler.values.errors import SharedError
from gridjit.compiler.values.launch_config import LaunchConfig

# Fewer blocks than this leave most of a big GPU idle.
FEW_BLOCKS = 128


class PerformanceWarning(SharedError, UserWarning):
    """A launch does more work than necessary, or uses less of the device than it could."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it

    also: ClassVar[tuple[str, ...]] = ("numba.cuda.core.errors:NumbaPerformanceWarning",)


def warn_of_copies(kernel: str, what: str) -> None:
    """Warn of copies at every launch, unless numba-cuda's switches say not to."""
    if is_on("CUDA_WARN_ON_IMPLICIT_COPY", default=1):
        _warn(
            f"Host array used in CUDA kernel will incur copy overhead: {kernel}: {what} is copied to the device "
            "and back at every launch; keep it there with cuda.to_device(), or give its direction with gridjit.In, "
            "Out or InOut"
        )


def warn_of_few_blocks(kernel: str, config: LaunchConfig) -> None:
    """Warn of a grid that leaves most of a GPU idle, if the environment asks for that.

    numba-cuda's switch for it is on by default, and imported only by compiles: its value counts after
    NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS is set, so that a warm process warns as a cold process does.
    """
    name = "CUDA_LOW_OCCUPANCY_WARNINGS"
    blocks = config.griddim[0] * config.griddim[1] * config.griddim[2]
    if blocks < FEW_BLOCKS and is_asked_for(name) and is_on(name):
        words = f"Grid size {blocks}: with fewer than {FEW_BLOCKS} blocks, many GPUs have low occupancy"
        _warn(f"{kernel} [{config}]: {words}")


def _warn(message: str) -> None:
    """Warn, unless numba-cuda's switch says not to."""
    if is_on("DISABLE_PERFORMANCE_WARNINGS"):
        return
    warn(PerformanceWarning(message))
