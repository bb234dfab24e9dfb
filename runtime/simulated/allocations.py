"""allocations: counters of kernels' allocations on the host, which their code writes and numba-cuda's rtsys reads."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple


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


def place_statistics(runtime: Any, answer: Callable[..., Any], *, wanted: Callable[[], bool]) -> Callable[[], None]:
    """Make numba-cuda's runtime (rtsys) read the host's counters; returns the undo function.

    answer: makes its tuple of counts. wanted: whether the program asked for statistics when the runtime begins.
    """
    methods = _methods(runtime, answer, wanted)
    vars(runtime).update(methods)

    def undo() -> None:
        count(wanted=False)
        for name in methods:
            vars(runtime).pop(name, None)

    return undo


def _methods(runtime: Any, answer: Callable[..., Any], wanted: Callable[[], bool]) -> dict[str, Callable[..., Any]]:
    def begin(stream: Any = None) -> None:
        if not runtime._initialized:
            runtime._initialized = True
            count(wanted=wanted())

    def counted() -> Counts:
        begin()
        if not counting():
            raise RuntimeError("NRT stats are disabled.")
        return counts()

    def switch(*, on: bool) -> None:
        begin()
        count(wanted=on)

    def enabled(stream: Any = None) -> bool:
        begin()
        return counting()

    def single(name: str) -> Callable[..., int]:
        return lambda stream=None: int(getattr(counted(), name))

    return {
        "allocate": lambda stream=None: None,
        "ensure_allocated": lambda stream=None: None,
        "ensure_initialized": begin,
        "initialize": begin,
        "memsys_enable_stats": lambda stream=None: switch(on=True),
        "memsys_disable_stats": lambda stream=None: switch(on=False),
        "memsys_stats_enabled": enabled,
        "get_allocation_stats": lambda stream=None: answer(*counted()),
        **{f"memsys_get_stats_{name}": single(name) for name in Counts._fields},
        "set_memsys_to_module": lambda module, stream=None: None,
        "print_memsys": lambda stream=None: print(*counted()),
    }
