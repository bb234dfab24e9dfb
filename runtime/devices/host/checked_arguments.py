"""Arguments: what the accesses of a checked launch to the memory of its arguments have to be looked at for.

A kernel's accesses to an array race only if it writes to that memory, through this argument or another; and read
unwritten memory only if some of it is. What cannot happen is not looked for.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from gridjit.compiler.targets.host.checks import record
from gridjit.runtime.memory.unwritten import Unwritten
from gridjit.values import dataclass

# From the first byte to after the last; None: any memory.
_Extent = tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parameters of a kernel. arrays: the number of each that is an array's address, and its dimensions.

    writes: the numbers of those to whose memory it writes; None if it may write any memory.
    """

    layout: struct.Struct
    arrays: dict[int, int]
    writes: frozenset[int] | None

    @classmethod
    def of(cls, codes: str, arrays: Sequence[Sequence[int]], writes: Sequence[int] | None) -> Arguments:
        """Return the parameters that an artifact describes."""
        return cls(
            layout=struct.Struct(codes),
            arrays={one[0]: one[1] for one in arrays},
            writes=None if writes is None else frozenset(writes),
        )

    def table(self, parameters: bytes, followed: Sequence[Unwritten]) -> Any:
        """Return what checks read of a launch's arguments. followed: the memory of which some bytes are unwritten."""
        values = self.layout.unpack_from(parameters)
        extents = [_extent(values, number, self.arrays.get(number)) for number in range(len(values))]
        written = [extents[number] for number in self.writes or ()]
        table = (ctypes.c_uint64 * (2 * len(values) + 2))()
        for number, extent in enumerate(extents):
            racing = self.writes is None or any(_meet(extent, other) for other in written)
            flags, far = _unwritten(extent, followed)
            table[2 * number] = flags | (record.RACING if racing else 0)
            table[2 * number + 1] = far & (1 << 64) - 1
        return table


def _extent(values: Sequence[Any], number: int, ndim: int | None) -> _Extent:
    """Return what an array spans; an empty one spans nothing."""
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
    """Return whether some memory has unwritten bytes, and how far the mask that covers all of it is from it."""
    met = [one for one in followed if _meet(extent, (one.address, one.address + one.size))]
    if not met:
        return 0, 0
    first, *others = met
    if others or extent is None or extent[0] < first.address or extent[1] > first.address + first.size:
        return record.PARTLY, 0
    return record.MASKED, int(first.mask.ctypes.data) - first.address
