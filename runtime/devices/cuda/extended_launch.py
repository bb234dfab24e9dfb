"""extended_launch: what the driver is told of a launch that is more than a grid and a block: in clusters, and the like.

`CUlaunchConfig` and its attributes, in the CUDA driver API.
"""

from __future__ import annotations

from typing import Any

from gridjit.compiler.launch_config import LaunchConfig


def launch_config(api: Any, config: LaunchConfig, stream: int, sharedmem: int) -> Any:
    """Return what cuLaunchKernelEx takes. api: cuda.bindings.driver, or what stands in for it."""
    made = api.CUlaunchConfig()
    made.gridDimX, made.gridDimY, made.gridDimZ = config.griddim
    made.blockDimX, made.blockDimY, made.blockDimZ = config.blockdim
    made.sharedMemBytes = sharedmem
    made.hStream = api.CUstream(stream)
    made.attrs = _attributes(api, config)
    made.numAttrs = len(made.attrs)
    return made


def _attributes(api: Any, config: LaunchConfig) -> list[Any]:
    attributes: list[Any] = []
    if config.cooperative:
        cooperative = _attribute(api, "COOPERATIVE", attributes)
        cooperative.value.cooperative = 1
    if config.cluster is not None:
        dim = _attribute(api, "CLUSTER_DIMENSION", attributes).value.clusterDim
        dim.x, dim.y, dim.z = config.cluster
    if config.preferred_cluster is not None:
        dim = _attribute(api, "PREFERRED_CLUSTER_DIMENSION", attributes).value.preferredClusterDim
        dim.x, dim.y, dim.z = config.preferred_cluster
    if config.programmatic:
        serialization = _attribute(api, "PROGRAMMATIC_STREAM_SERIALIZATION", attributes)
        serialization.value.programmaticStreamSerializationAllowed = 1
    return attributes


def _attribute(api: Any, name: str, attributes: list[Any]) -> Any:
    """Return a new attribute of a launch, which is added to attributes."""
    made = api.CUlaunchAttribute()
    made.id = getattr(api.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
    attributes.append(made)
    return made
