"""Device: the protocol of what loads artifacts and launches them, and LoadedKernel, which lives on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.targets.base import Target
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAttributes:
    """What a loaded kernel uses on a device.

    registers of a thread; shared, local and constant memory in bytes, of a block, a thread and the kernel; max_threads
    of a block.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCallbacks:
    """What linked code wants called with its module (a cuda.core.ObjectCode), in each context where it is launched.

    setup: before its first launch. teardown: before it is unloaded.
    """

    setup: tuple[Callable[[Any], Any], ...] = ()
    teardown: tuple[Callable[[Any], Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.setup or self.teardown)


NO_CALLBACKS = ModuleCallbacks()


class LoadedKernel(Protocol):
    """An artifact on one device; ends with it."""

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> None:
        """Run the kernel: the host's cuLaunchKernel. parameters are packed as the artifact says.

        Raises what the kernel raised, or LaunchError.
        """
        ...

    def attributes(self) -> KernelAttributes:
        """Return what the kernel uses on the device it would run on now."""
        ...

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        """Return how many threads a block should have; limit: at most so many, if not 0."""
        ...


class Device(Protocol):
    """Something kernels run on."""

    @property
    def target(self) -> Target:
        """What code must be made for to run here."""
        ...

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> LoadedKernel:
        """Return artifact, loaded; raises DeviceError if it cannot be. callbacks: for the module that it becomes."""
        ...
