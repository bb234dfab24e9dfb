"""held_attributes: what a kernel uses, as far as its artifact says so itself: no driver and no device is asked."""

from __future__ import annotations

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.launch_config import MAX_BLOCK_THREADS
from gridjit.runtime.devices.base import KernelAttributes

_WARP = 32
# "Compute capabilities" in the CUDA programming guide: registers that a block may have, and four schedulers share.
# They are given to warps in such steps.
_REGISTERS, _FEWER_REGISTERS = 1 << 16, 1 << 15
_WITH_FEWER = ("sm_53", "sm_62")
_SCHEDULERS, _STEP = 4, 256


def held_attributes(artifact: Artifact) -> KernelAttributes | None:
    """Return what an artifact says that its kernel uses; None for code whose device has to be asked."""
    known = artifact.resources
    if artifact.target.kind != "ptx" or "registers" not in known:
        return None
    return KernelAttributes(
        registers=known["registers"],
        shared_bytes=known.get("shared_bytes", 0),
        local_bytes=known.get("local_bytes", 0),
        constant_bytes=known.get("constant_bytes", 0),
        max_threads=min(known.get("max_threads", MAX_BLOCK_THREADS), _threads_of(known["registers"], artifact)),
    )


def _threads_of(registers: int, artifact: Artifact) -> int:
    """Return how many threads of so many registers each a block of the artifact's GPU has room for."""
    room = _FEWER_REGISTERS if artifact.target.arch in _WITH_FEWER else _REGISTERS
    of_a_warp = max(_STEP, -(-registers * _WARP // _STEP) * _STEP)
    warps = room // _SCHEDULERS // of_a_warp * _SCHEDULERS
    return min(MAX_BLOCK_THREADS, warps * _WARP)
