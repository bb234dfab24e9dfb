"""Arguments: the mistakes that a checked launch can make in its accesses to its arguments' memory.

A kernel's accesses to an array race only if it writes to that memory, through this argument or another; they read
unwritten memory only if some of it is unwritten. Impossible mistakes are not checked for.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from gridjit.base.values import dataclass
from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.memory.unwritten import Unwritten

# From the first byte to after the last; None: any memory.
_Extent = tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parameters of a kernel. arrays: the number of each array's address, and its dimensions.

    writes: the numbers of the arrays that it writes to; None if it may write any memory. own: the numbers of the arrays
    whose items are each one thread's own, if some coordinates tell all threads of a launch apart, a block has at most
    so many along some axes, and the parameters of some numbers have other memory.
    """

    layout: struct.Struct
    arrays: dict[int, int]
    writes: frozenset[int] | None
    own: dict[int, tuple[frozenset[str], dict[str, int], tuple[int, ...]]]

    @classmethod
    def of(cls, codes: str, told: dict[str, Any]) -> Arguments:
        """Return the parameters that an artifact describes."""
        writes = told["writes"]
        return cls(
            layout=struct.Struct(codes),
            arrays={one[0]: one[1] for one in told["arrays"]},
            writes=None if writes is None else frozenset(writes),
            own={int(n): (frozenset(tells), most, tuple(beside)) for n, (tells, most, beside) in told["own"].items()},
        )

    def table(self, parameters: bytes, followed: Sequence[Unwritten], config: LaunchConfig) -> Any:
        """Return the checks' table of a launch's arguments. followed: memory that has unwritten bytes."""
        values = self.layout.unpack_from(parameters)
        extents = [_extent(values, number, self.arrays.get(number)) for number in range(len(values))]
        written = [extents[n] for n in self.writes or () if not self._is_own(n, values, extents, config)]
        table = (ctypes.c_uint64 * (2 * len(values) + 2))()
        for number, extent in enumerate(extents):
            racing = self.writes is None or any(_meet(extent, other) for other in written)
            flags, far = _unwritten(extent, followed)
            table[2 * number] = flags | (record.RACING if racing else 0)
            table[2 * number + 1] = far & (1 << 64) - 1
        return table

    def _is_own(self, number: int, values: Sequence[Any], extents: Sequence[_Extent], config: LaunchConfig) -> bool:
        """Return whether no item of an array is accessed by two threads of a launch, nor through another parameter."""
        if number not in self.own or number not in self.arrays:
            return False
        tells, most, beside = self.own[number]
        return (
            _tells_all(tells, most, config)
            and not any(_meet(extents[number], extents[other]) for other in beside)
            and _is_disjoint(values, number, self.arrays[number])
        )


def _tells_all(tells: frozenset[str], most: dict[str, int], config: LaunchConfig) -> bool:
    """Return whether coordinates tell all threads of a launch apart."""
    for axis, threads, blocks in zip("xyz", config.blockdim, config.griddim, strict=True):
        if (threads > 1 and f"tid.{axis}" not in tells) or (blocks > 1 and f"ctaid.{axis}" not in tells):
            return False
        if threads > most.get(axis, threads):
            return False
    return True


def _is_disjoint(values: Sequence[Any], number: int, ndim: int) -> bool:
    """Return whether no two items of an array share a byte."""
    span, shape, strides = values[number - 1], values[number + 1 :][:ndim], values[number + 1 + ndim :][:ndim]
    for stride, count in sorted((abs(stride), count) for stride, count in zip(strides, shape, strict=True)):
        if count > 1:
            if stride < span:
                return False
            span += stride * (count - 1)
    return True


def _extent(values: Sequence[Any], number: int, ndim: int | None) -> _Extent:
    """Return the bytes that an array spans; empty: none."""
    if ndim is None:
        return None
    size, address = values[number - 1], values[number]
    shape, strides = values[number + 1 :][:ndim], values[number + 1 + ndim :][:ndim]
    if 0 in shape:
        return address, address
    far = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    return address + sum(min(one, 0) for one in far), address + sum(max(one, 0) for one in far) + size


def _meet(one: _Extent, other: _Extent) -> bool:
    return one is None or other is None or (one[0] < other[1] and other[0] < one[1])


def _unwritten(extent: _Extent, followed: Sequence[Unwritten]) -> tuple[int, int]:
    """Return flags of some memory's unwritten bytes, and the distance to the mask that covers it."""
    met = [one for one in followed if _meet(extent, (one.address, one.address + one.size))]
    if not met:
        return 0, 0
    first, *others = met
    if others or extent is None or extent[0] < first.address or extent[1] > first.address + first.size:
        return record.PARTLY, 0
    return record.MASKED, int(first.mask.ctypes.data) - first.address
