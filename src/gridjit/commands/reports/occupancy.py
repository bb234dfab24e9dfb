"""occupancy: the share of a multiprocessor's threads that blocks of a specialization can fill, and its limits.

Limits: "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide; registers are given to
warps in units of 256, and from compute capability 8.0 on the system keeps 1 KiB of shared memory for each block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from gridjit.commands.reports.facts import Form

BLOCKS = (32, 64, 128, 256, 512, 1024)
_WARP, _REGISTERS, _UNIT = 32, 65536, 256


class _Limits(NamedTuple):
    """The limits of a multiprocessor: how much it holds at once."""

    threads: int
    blocks: int
    shared_kib: int


_BY_ARCH = {
    50: _Limits(2048, 32, 64), 52: _Limits(2048, 32, 96), 53: _Limits(2048, 32, 64), 60: _Limits(2048, 32, 64),
    61: _Limits(2048, 32, 96), 62: _Limits(2048, 32, 64), 70: _Limits(2048, 32, 96), 72: _Limits(2048, 32, 96),
    75: _Limits(1024, 16, 64), 80: _Limits(2048, 32, 164), 86: _Limits(1536, 16, 100), 87: _Limits(1536, 16, 164),
    89: _Limits(1536, 24, 100), 90: _Limits(2048, 32, 228), 100: _Limits(2048, 32, 228), 103: _Limits(2048, 32, 228),
    120: _Limits(1536, 24, 100), 121: _Limits(1536, 24, 100),
}  # fmt: skip


class Occupancy(NamedTuple):
    """The share of a multiprocessor's threads that run at once, from 0 to 1, and the resources that limit it."""

    share: float
    limits: tuple[str, ...] = ()


def occupancy(target: str, resources: Mapping[str, int], threads: int, sharedmem: int = 0) -> Occupancy | None:
    """Return the occupancy in blocks of so many threads, each with so many bytes of dynamic shared memory.

    None for a target that is not a GPU or not known, or where no registers are counted.
    """
    arch = re.match(r"sm_(\d+)", target)
    limits = _BY_ARCH.get(int(arch[1])) if arch else None
    registers = resources.get("registers", 0)
    if limits is None or arch is None or not registers or threads <= 0:
        return None
    warps = math.ceil(threads / _WARP)
    each_warp = math.ceil(registers * _WARP / _UNIT) * _UNIT
    reserved = 1024 if int(arch[1]) >= 80 else 0
    shared = resources.get("shared_bytes", 0) + sharedmem + reserved
    blocks = {
        "registers": _REGISTERS // each_warp // warps,
        "shared memory": limits.shared_kib * 1024 // shared if shared else limits.blocks,
        "blocks": limits.blocks,
        "threads": limits.threads // (warps * _WARP),
    }
    most = min(blocks.values())
    share = round(most * warps * _WARP / limits.threads, 4)
    return Occupancy(share, () if share >= 1 else tuple(name for name, least in blocks.items() if least == most))


def own_occupancy(form: Form) -> Occupancy | None:
    """Return the occupancy of a specialization in its launches; None if they are not known."""
    shape = form.shape
    return None if shape is None else occupancy(form.target, form.resources, shape.threads, shape.sharedmem)


def curve(form: Form) -> dict[int, float]:
    """Return the share by the number of threads in a block, without dynamic shared memory; empty if it is unknown."""
    found = ((block, occupancy(form.target, form.resources, block)) for block in BLOCKS)
    return {block: one.share for block, one in found if one is not None}
