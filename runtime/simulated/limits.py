"""limits: launches that a GPU would refuse are refused on the host too, with a GPU's errors.

The shape of a launch is checked when its LaunchConfig is made: its limits are the same for every device.
"""

from __future__ import annotations

import struct

from gridjit.compiler.targets.refusals import STATIC_SHARED, of_parameters, of_shared_arrays
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import (
    ClusterError,
    CompileError,
    ConfigError,
    LimitError,
    LinkError,
    ResidencyError,
)
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.environment.models import DeviceModel, model
from gridjit.runtime.environment.settings import settings

# With clusters: eight blocks anywhere, and more where a kernel asks for it, as launches here do.
_MOST_OF_A_CLUSTER = 16
# Bytes of a launch's arguments on every GPU that code is generated for.
MOST_PARAMETERS = 32764
_SWITCH = "GRIDJIT_HOST_LIMITS=0 lets the host run it anyway"


def check_static(artifact: Artifact) -> None:
    """Raise the compiler's or the linker's error if a kernel's arguments or static shared arrays have no room."""
    kind = _model()
    passed = struct.calcsize(artifact.parameters)
    if kind is not None and passed > MOST_PARAMETERS:
        raise CompileError(f"{artifact.kernel}: {of_parameters(passed, MOST_PARAMETERS)}; {_SWITCH}")
    size = artifact.resources.get("shared_bytes", 0)
    if kind is not None and size > (most := _most_static(kind)):
        said = of_shared_arrays(size, most)
        raise LinkError(f"{artifact.kernel} for the simulated {kind.name}: {said}; {_SWITCH}")


def check_shared(artifact: Artifact, config: LaunchConfig, dynamic: int) -> None:
    """Raise LimitError if a block's shared memory, static and dynamic, is more than the device allows."""
    kind = _model()
    static = artifact.resources.get("shared_bytes", 0)
    if kind is not None and static + dynamic > (most := _most(kind)):
        raise LimitError(
            f"{artifact.kernel} [{config}]: a block has {static} bytes of static and {dynamic} of dynamic shared "
            f"memory; the simulated {kind.name} allows {most} together; {_SWITCH}"
        )


def check_resident(artifact: Artifact, config: LaunchConfig, dynamic: int) -> None:
    """Raise ResidencyError if the device has no room for all blocks of a cooperative launch at once."""
    kind = _model()
    blocks = config.griddim[0] * config.griddim[1] * config.griddim[2]
    threads = config.blockdim[0] * config.blockdim[1] * config.blockdim[2]
    most = resident_blocks(threads, artifact.resources.get("shared_bytes", 0) + dynamic)
    if kind is not None and most is not None and blocks > most:
        raise ResidencyError(
            f"{artifact.kernel} [{config}]: all {blocks} blocks of a cooperative launch must be resident at once; at "
            f"most {most} blocks of {threads} threads are resident on the simulated {kind.name}; {_SWITCH}"
        )


def check_cluster(artifact: Artifact, config: LaunchConfig) -> None:
    """Raise an error for clusters that do not divide the grid, or that the device does not launch."""
    kind, cluster = _model(), config.cluster or (1, 1, 1)
    if any(blocks % size for blocks, size in zip(config.griddim, cluster, strict=True)):
        raise ConfigError(f"{artifact.kernel} [{config}]: the grid must be a multiple of the cluster")
    if kind is None:
        return
    if not kind.attribute("CLUSTER_LAUNCH"):
        words = "does not launch clusters"
    elif (blocks := cluster[0] * cluster[1] * cluster[2]) > _MOST_OF_A_CLUSTER:
        words = f"allows {_MOST_OF_A_CLUSTER} blocks in a cluster, not {blocks}"
    else:
        return
    raise ClusterError(f"{artifact.kernel} [{config}]: the simulated {kind.name} {words}; {_SWITCH}")


def resident_blocks(threads: int, shared: int) -> int | None:
    """Return how many blocks of so many threads and so much shared memory the device has room for; None: any number."""
    from gridjit.runtime.environment.models import active_blocks

    if (kind := _model()) is None:
        return None
    return active_blocks(kind, threads, shared) * kind.attribute("MULTIPROCESSOR_COUNT")


def _model() -> DeviceModel | None:
    """Return the device of the limits; None if they are off."""
    wanted = settings()
    return model(wanted.host_device) if wanted.host_limits else None


def _most_static(kind: DeviceModel) -> int:
    return _most(kind) if kind.compute_capability >= (9, 0) else STATIC_SHARED


def _most(kind: DeviceModel) -> int:
    return kind.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
