"""allocation_statistics: the answers of numba-cuda's rtsys on the host: the counters that kernels there write to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.runtime.simulated import allocations


def place_statistics(runtime: Any, answer: Callable[..., Any], *, wanted: Callable[[], bool]) -> Callable[[], None]:
    """Make numba-cuda's runtime (rtsys) read the host's counters; returns the undo function.

    answer: makes its tuple of counts. wanted: whether the program asked for statistics when the runtime begins.
    """
    methods = _methods(runtime, answer, wanted)
    vars(runtime).update(methods)

    def undo() -> None:
        allocations.count(wanted=False)
        for name in methods:
            vars(runtime).pop(name, None)

    return undo


def _methods(runtime: Any, answer: Callable[..., Any], wanted: Callable[[], bool]) -> dict[str, Callable[..., Any]]:
    def begin(stream: Any = None) -> None:
        if not runtime._initialized:
            runtime._initialized = True
            allocations.count(wanted=wanted())

    def counts() -> allocations.Counts:
        begin()
        if not allocations.counting():
            raise RuntimeError("NRT stats are disabled.")
        return allocations.counts()

    def switch(*, on: bool) -> None:
        begin()
        allocations.count(wanted=on)

    def enabled(stream: Any = None) -> bool:
        begin()
        return allocations.counting()

    def single(name: str) -> Callable[..., int]:
        return lambda stream=None: int(getattr(counts(), name))

    return {
        "allocate": lambda stream=None: None,
        "ensure_allocated": lambda stream=None: None,
        "ensure_initialized": begin,
        "initialize": begin,
        "memsys_enable_stats": lambda stream=None: switch(on=True),
        "memsys_disable_stats": lambda stream=None: switch(on=False),
        "memsys_stats_enabled": enabled,
        "get_allocation_stats": lambda stream=None: answer(*counts()),
        **{f"memsys_get_stats_{name}": single(name) for name in allocations.Counts._fields},
        "set_memsys_to_module": lambda module, stream=None: None,
        "print_memsys": lambda stream=None: print(*counts()),
    }
