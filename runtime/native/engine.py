"""Engine: the functions that run grids, placed in this process, and the one record that they all use.

A forked child gets a pool of its own: its parent's threads do not exist there.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from typing import Any

from gridjit.base.forking import in_child, lock, section
from gridjit.base.values import dataclass
from gridjit.cache.store import Store
from gridjit.runtime.native.layout import grid_records as records
from gridjit.runtime.native.placement import for_ever, grids_address

_CACHE_LINE = 64

_making = lock()
_engines: list[Engine | None] = []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Engine:
    """The address of launch_grid, the builtins for many launches at once, and the record that kernels refer to.

    transfer: the address of the kernel that brings bytes from and to page-locked memory.
    """

    address: int
    transfer: int
    record: records.EngineRecord
    call: Any
    replay: Any


def engine(store: Store) -> Engine | None:
    """Return this process's engine, its code from store; None where Python runs grids."""
    if not _engines:
        with section(), _making:
            if not _engines:
                _engines.append(_made(store))
    return _engines[0]


def _made(store: Store) -> Engine | None:
    address = grids_address(store)
    record = for_ever(records.EngineRecord(name=b"gridjit-host"))
    if address is None or not _fill(record):
        return None
    part = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int32)(address)
    record.handler = part(1)
    record.settle = part(2)
    settle(record)
    launch = part(0)
    # The code releases the GIL itself.
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, ctypes.c_int32, ctypes.c_void_p)
    several = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    return Engine(address=launch, transfer=part(4), record=record, call=prototype(launch), replay=several(part(3)))


def _fill(record: records.EngineRecord) -> bool:
    """Fill in the functions that the code calls, and a pool; return whether all of them are there."""
    libc = ctypes.CDLL(None)
    try:
        for library, names in ((libc, records.FUNCTIONS), (ctypes.pythonapi, records.API)):
            for name in names:
                setattr(record, name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    except AttributeError:
        return False
    record.main = threading.main_thread().ident
    record.pool = _new_pool()
    return True


def _new_pool() -> int:
    # Never freed, and only the pages that are written to are made.
    calloc = ctypes.CDLL(None).calloc
    calloc.argtypes, calloc.restype = [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p
    start = calloc(1, ctypes.sizeof(records.PoolRecord) + _CACHE_LINE)
    if start is None:
        raise MemoryError("there is not enough memory for the threads that run grids")
    return -(-int(start) // _CACHE_LINE) * _CACHE_LINE


def settle(record: records.EngineRecord) -> None:
    """Choose a signal for the engine that nobody handles and this thread does not block, if there is one."""
    ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(record.settle)(ctypes.addressof(record))


def _renew() -> None:
    for known in _engines:
        if known is not None and not sys.is_finalizing():  # threads of machine code run on, to the end of the process
            _let_go(records.PoolRecord.from_address(known.record.pool))
            known.record.pool = _new_pool()
            known.record.main = threading.get_ident()


def _let_go(pool: records.PoolRecord) -> None:
    """Make the launches of a thread that forks in a signal handler wait for none of the pool's threads."""
    for slot in pool.slot:
        slot.working = 0


in_child(_renew)


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
