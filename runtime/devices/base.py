"""Device: the protocol of what loads artifacts and launches them, and LoadedKernel, which lives on one."""

from __future__ import annotations

from typing import Any, Protocol

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.targets.base import Target


class LoadedKernel(Protocol):
    """An artifact on one device; ends with it."""

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> None:
        """Run the kernel: the host's cuLaunchKernel. parameters are packed as the artifact says.

        Raises what the kernel raised, or LaunchError.
        """
        ...


class Device(Protocol):
    """Something kernels run on."""

    @property
    def target(self) -> Target:
        """What code must be made for to run here."""
        ...

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Return artifact, loaded; raises DeviceError if it cannot be."""
        ...
