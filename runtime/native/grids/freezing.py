"""freezing: stops threads for ever where they are, in a kernel's own code."""

from __future__ import annotations

import ctypes
import time

from gridjit.runtime.native.grids import records
from gridjit.runtime.native.grids.engine import Engine, settle
from gridjit.runtime.native.placement import for_ever

# A thread is met in the kernel's own code sooner or later, unless it is in a function of a library for good.
_PATIENCE_S = 5.0
_PAUSE_S = 0.002
_FROZEN = 2


def freeze(engine: Engine, threads: set[int], code: tuple[int, int]) -> bool:
    """Stop these threads (their idents) in a kernel's code, from its first address to its last; they never go on.

    Returns whether all were stopped or left the code by themselves: threads changes then.
    """
    # Called with the GIL, without which no thread gets from a kernel to its end: a thread that ended has no ident.
    libc = ctypes.PyDLL(None)
    libc.pthread_sigqueue.argtypes = [ctypes.c_ulong, ctypes.c_int, ctypes.c_void_p]
    settle(engine.record)
    runners = {thread: _runner(engine, code) for thread in [*threads]}
    until = time.monotonic() + _PATIENCE_S
    while engine.record.signal and time.monotonic() < until:
        waiting = [one for one in runners if one in threads and runners[one].inside != _FROZEN]
        if not waiting:
            return True
        for one in waiting:
            libc.pthread_sigqueue(one, engine.record.signal, ctypes.addressof(runners[one]))
        time.sleep(_PAUSE_S)
    return False


def _runner(engine: Engine, code: tuple[int, int]) -> records.RunnerRecord:
    low, high = code
    return for_ever(
        records.RunnerRecord(low=low, high=high, engine=ctypes.addressof(engine.record), inside=1, freeze=1)
    )
