"""allocations: the counters of kernels' allocations on the host, which their code writes to."""

from __future__ import annotations

import ctypes
from typing import NamedTuple


class Counts(NamedTuple):
    """Kernels' allocations and frees since this process began to count: memory, and the heads of arrays."""

    alloc: int
    free: int
    mi_alloc: int
    mi_free: int


# Whether to count, then the counts.
_counters = (ctypes.c_uint64 * (1 + len(Counts._fields)))()


def counters() -> int:
    """Return the address of the counters."""
    return ctypes.addressof(_counters)


def count(*, wanted: bool) -> None:
    """Turn kernels' counting on or off."""
    _counters[0] = wanted


def counting() -> bool:
    """Return whether kernels count."""
    return bool(_counters[0])


def counts() -> Counts:
    """Return the counts."""
    return Counts(*_counters[1:])
