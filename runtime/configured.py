"""ConfiguredKernel: `kernel[grid, block, stream, sharedmem]`, ready to be called with arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.launch_config import Dim3, LaunchConfig
from gridjit.runtime.dispatch import ReadyTable, launch

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel


class ConfiguredKernel:
    """A kernel with the shape of its launch.

    Call it with the kernel's arguments. Each function in pre_launch_callbacks is called with (kernel, config) before
    every launch made through this object; another object, even of an equal configuration, has its own.
    """

    __slots__ = ("config", "dispatcher", "pre_launch_callbacks", "ready", "stream")

    def __init__(self, kernel: Kernel, config: LaunchConfig, stream: Any, ready: ReadyTable) -> None:
        self.dispatcher = kernel
        self.config = config
        self.stream = stream
        self.pre_launch_callbacks: list[Callable[[Kernel, ConfiguredKernel], Any]] = []
        self.ready = ready

    def __call__(self, *args: Any) -> None:
        """Launch the kernel; what it wrote is there when the stream has got to it (on the host: at once)."""
        launch(self, args)

    @property
    def griddim(self) -> Dim3:
        """Blocks in the grid, (x, y, z)."""
        return self.config.griddim

    @property
    def blockdim(self) -> Dim3:
        """Threads in a block, (x, y, z)."""
        return self.config.blockdim

    @property
    def sharedmem(self) -> int:
        """Dynamic shared memory of a block, in bytes."""
        return self.config.sharedmem

    def mark_kernel_as_launch_config_sensitive(self, *fields: str) -> None:
        """Declare that the kernel depends on the named launch fields; on all of them if none is named."""
        self.dispatcher.mark_launch_config_sensitive(*fields)

    def get_kernel_launch_config_sensitive(self) -> bool | None:
        """Return whether the kernel depends on its configuration; None if nothing of it is compiled yet."""
        if self.dispatcher.marks:
            return True
        known = self.dispatcher.specializations
        return any(found.launch_config_sensitive for found in known) if known else None

    def is_kernel_launch_config_sensitive(self) -> bool:
        """Return whether the kernel is known to depend on its configuration."""
        return bool(self.get_kernel_launch_config_sensitive())

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r} configured for {self.config}>"
