"""limits: what a GPU would refuse to launch, refused on the host too, with the errors that a GPU's launch raises.

The shape of a launch is checked where it is made (LaunchConfig): its limits are those of every device.
"""

from __future__ import annotations

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.errors import LimitError, LinkError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.runtime.settings import settings
from gridjit.runtime.simulated.models import DeviceModel, model

_SWITCH = "GRIDJIT_HOST_LIMITS=0 lets the host run it all the same"


def check_static(artifact: Artifact) -> None:
    """Raise LinkError, as the linker does, if a kernel's static shared arrays have no room in a block."""
    kind = _model()
    size = artifact.resources.get("shared_bytes", 0)
    if kind is not None and size > (most := _most(kind)):
        raise LinkError(
            f"{artifact.kernel} uses too much shared data ({size:#x} bytes, {most:#x} max on the simulated "
            f"{kind.name}); {_SWITCH}"
        )


def check_shared(artifact: Artifact, config: LaunchConfig, dynamic: int) -> None:
    """Raise LimitError if a block's shared memory, static and dynamic, is more than the device has for one."""
    kind = _model()
    static = artifact.resources.get("shared_bytes", 0)
    if kind is not None and static + dynamic > (most := _most(kind)):
        raise LimitError(
            f"{artifact.kernel} [{config}]: a block has {static} bytes of static and {dynamic} of dynamic shared "
            f"memory; the simulated {kind.name} allows {most} together; {_SWITCH}"
        )


def _model() -> DeviceModel | None:
    """Return the device that limits are taken from; None if they are off."""
    wanted = settings()
    return model(wanted.host_device) if wanted.host_limits else None


def _most(kind: DeviceModel) -> int:
    return kind.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
