"""occupancy: the share of a multiprocessor's threads that blocks of a specialization can fill, from its resources.

Limits: "Technical Specifications per Compute Capability" in the CUDA C++ Programming Guide; registers are given to
warps in units of 256, and from compute capability 8.0 on the system keeps 1 KiB of shared memory for each block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gridjit.commands.reports.facts import SeenFact

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


def occupancy(target: str, resources: Mapping[str, int], threads: int) -> float | None:
    """Return the share of a multiprocessor's threads that run at once in blocks of so many, from 0 to 1.

    None for a target that is not a GPU or not known, or where no registers are counted. Dynamic shared memory, which
    each launch chooses, is left out.
    """
    arch = re.match(r"sm_(\d+)", target)
    limits = _BY_ARCH.get(int(arch[1])) if arch else None
    registers = resources.get("registers", 0)
    if limits is None or arch is None or not registers or threads <= 0:
        return None
    warps = math.ceil(threads / _WARP)
    each_warp = math.ceil(registers * _WARP / _UNIT) * _UNIT
    reserved = 1024 if int(arch[1]) >= 80 else 0
    shared = resources.get("shared_bytes", 0) + reserved
    blocks = min(
        limits.blocks,
        limits.threads // (warps * _WARP),
        _REGISTERS // each_warp // warps,
        limits.shared_kib * 1024 // shared if shared else limits.blocks,
    )
    return round(blocks * warps * _WARP / limits.threads, 4)


def block_of(facts: Iterable[SeenFact]) -> int | None:
    """Return the threads per block that a specialization was made for, if it is made for one number."""
    known = {fact.field: fact.value for fact in facts}
    if (whole := known.get("blockdim")) is not None:
        return _product(re.findall(r"\d+", whole))
    return _product([known[name] for name in ("blockdim.x", "blockdim.y", "blockdim.z") if name in known])


def _product(numbers: list[str]) -> int | None:
    return math.prod(map(int, numbers)) if numbers and all(one.isdecimal() for one in numbers) else None
