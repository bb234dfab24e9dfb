"""launch: run a grid on the host from Python. The blocks are dealt out in chunks to a thread and its helpers.

If machine code runs grids (grids.py), this runs only the first launch of a process, before that code is ready. The
first block runs alone, and helpers are woken only if the rest is worth it, so small grids cost two calls. If a block
that does not end can be stopped, the main thread runs none: it waits for the thread that does, so that signals reach
it.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import struct
import threading
import time
from _thread import allocate_lock
from collections.abc import Callable
from typing import Any

from gridjit.base.interrupts import surely
from gridjit.base.stacks import on_new_thread
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig
from gridjit.runtime.devices.host.load import HostFunction

# The driver's own codes (see the host target's driver).
_DIVERGENT = -1
_NO_MEMORY = -2
_STRANDED = -3
_STACK_ENDS = 0x7FFF_FFF1
# Less the number of the cut in a spin loop where a thread waits: each cut has a place in the source.
SPINS = -100_000

# The shape, the dynamic shared memory, and the longest wait without progress, in nanoseconds.
_LAUNCH = struct.Struct("=7i4xq")
_STATUS = struct.Struct("=7i")
# A kernel's entry can answer this in its place: from which to before which block any does something.
_ENDS = struct.Struct("=2q")
# Chunks per thread: enough for uneven blocks to balance, few enough for a chunk to be worth its call.
_CHUNKS = 16
# Helpers are woken if the rest takes at least so long; and a chunk's longest time, by estimate.
_WORTH_HELP_S = 100e-6
_CHUNK_S = 20e-3
# How long an interrupted launch waits for running blocks, and a launch before it makes stop ready.
_GRACE_S = 0.2
_LONG_S = 0.5
# From so many blocks on, it is worth asking which do nothing. A chunk that takes less is lengthened.
_MANY = 4096
_BRIEF_S = 1e-3

# Stops threads for ever, by their idents, in a kernel's own code; returns whether all have left their blocks.
_Stop = Callable[[set[int]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a kernel failed: its exception code, and the block and thread that returned it."""

    code: int
    block: Dim3
    thread: Dim3


def launch(
    function: HostFunction,
    config: LaunchConfig,
    params: Any,
    sharedmem: int,
    threads: int,
    stop: _Stop | None = None,
    *,
    resident: bool = False,
    patience: int = 0,
) -> Status | None:
    """Run function over config's grid on up to threads threads; return None, or the first exception's status.

    params: the packed parameters (bytes, bytearray or a ctypes buffer). sharedmem: dynamic shared bytes of a block.
    stop: stops threads that stay in a block after an interrupt; without it, blocks are waited for. resident: whether
    blocks wait for other blocks, so that one thread runs all in turns. patience: how long they may do so without
    progress, in nanoseconds; 0: for ever. Raises LaunchError if threads of a block wait at different barriers, or for
    want of memory.
    """
    given, shape = params_buffer(params), launch_bytes(config, sharedmem, patience)
    blocks = math.prod(config.griddim)
    begin, end = (0, blocks) if resident else _ends(function, given, shape, blocks)
    if begin >= end:
        return None
    run = _Run(
        function=function, params=given, launch=shape, begin=begin, end=end, first=end if resident else begin + 1
    )
    if stop is not None and threading.get_ident() == threading.main_thread().ident:
        _run_aside(run, threads, stop)
    else:
        _deal(run, threads)
    return None if run.failure is None else judge(run.failure, function, config)


class _Run:
    """A grid that is running: the blocks left, the threads at work, and the failure.

    begin, end: the blocks to run; blocks before first are run before any are handed out.
    """

    def __init__(self, *, function: HostFunction, params: Any, launch: Any, begin: int, end: int, first: int) -> None:
        self.function = function
        self.params = params
        self.launch = launch
        self.begin = begin
        self.end = end
        self.first = first
        self.chunk = 1
        self.next = first
        self.dealing = allocate_lock()
        self.working = 0
        self.at_work: set[int] = set()
        self.open = True
        self.interrupted = False
        self.ended = False
        self.failure: bytes | None = None
        self.condition = threading.Condition()

    def some(self, first: int, last: int) -> bool:
        """Run blocks first to last - 1; return whether to go on."""
        status = ctypes.create_string_buffer(_STATUS.size)
        me = threading.get_ident()
        self.at_work.add(me)
        # Read only now: an interrupt reads at_work after it is set.
        code = 0 if self.interrupted else self.function.call(self.params, self.launch, first, last, status)
        self.at_work.discard(me)
        if code == 0:
            return not self.interrupted
        with self.condition:
            if self.failure is None:
                self.failure = status.raw
        return False

    def take_chunks(self, shared: int = 1) -> None:
        """Run chunks until none is left or a block failed. shared: how many threads do so."""
        while self.failure is None:
            with self.dealing:
                first, self.next = self.next, self.next + self.chunk
            since = time.perf_counter()
            if first >= self.end or not self.some(first, min(first + self.chunk, self.end)):
                return
            if time.perf_counter() - since < _BRIEF_S:
                self.chunk = max(self.chunk, min(2 * self.chunk, (self.end - self.next) // (_CHUNKS * shared)))


def _run_aside(run: _Run, threads: int, stop: _Stop) -> None:
    """Run all blocks of run on another thread, and wait for it; raises its exception. An interrupt ends it."""
    done, turn = allocate_lock(), itertools.count()
    failed: list[BaseException] = []
    done.acquire()

    def work() -> None:
        if next(turn) == 0:
            try:
                _deal(run, threads)
            except BaseException as error:
                failed.append(error)
            finally:
                run.ended = True
                done.release()

    try:
        try:
            on_new_thread(work)
        except RuntimeError:
            # No more threads, or the interpreter is ending.
            work()
        if not done.acquire(timeout=_LONG_S):
            stop(set())  # the means to stop threads is made ready
            done.acquire()
    except BaseException:
        run.interrupted = True
        if next(turn) > 0:  # else no thread has begun, and none will
            # However often it is interrupted: running blocks would use memory that is gone.
            surely(lambda: _end(run, done, stop), tries=None)
        raise
    if failed:
        raise failed[0]


def _end(run: _Run, done: Any, stop: _Stop) -> None:
    """Return when all blocks have stopped; it may be called again."""
    if run.ended or done.acquire(timeout=_GRACE_S):
        return
    if not stop(run.at_work):
        done.acquire()
    from gridjit.runtime.devices.host.pool import renew

    renew()  # some of the threads may have been stopped


def _deal(run: _Run, threads: int) -> None:
    """Run all blocks of run."""
    start = time.perf_counter()
    if not run.some(run.begin, run.first) or run.end == run.first:
        return
    each = time.perf_counter() - start
    left = run.end - run.first
    if threads > 1 and left * each >= _WORTH_HELP_S:
        run.chunk = max(1, min(left // (_CHUNKS * threads), int(_CHUNK_S / each)))
        _share(run, threads)
    else:
        run.chunk = max(1, min(left, int(_CHUNK_S / max(each, 1e-9))))
        run.take_chunks()


def _share(run: _Run, threads: int) -> None:
    """Run the remaining blocks, together with helpers; return when all are done."""

    def assist() -> None:
        with run.condition:
            if not run.open:
                return
            run.working += 1
        try:
            run.take_chunks(threads)
        finally:
            with run.condition:
                run.working -= 1
                run.condition.notify_all()

    from gridjit.runtime.devices.host.pool import pool  # small grids are not shared

    pool().help(assist, min(threads - 1, -(-(run.end - run.first) // run.chunk) - 1))
    try:
        run.take_chunks(threads)
    except BaseException:
        run.interrupted = True  # helpers stop after their chunks
        raise
    finally:
        # Also after an interrupt: helpers at work still use the caller's memory. A late helper does nothing.
        with run.condition:
            run.open = False
            run.condition.wait_for(lambda: run.working == 0)


def _ends(function: HostFunction, params: Any, shape: Any, blocks: int) -> tuple[int, int]:
    """Return from which to before which block any does something, as far as the kernel tells."""
    if blocks < _MANY:
        return 0, blocks
    told = ctypes.create_string_buffer(_ENDS.pack(0, blocks), _STATUS.size)
    function.call(params, shape, blocks, 0, told)
    begin, end = _ENDS.unpack_from(told)
    return begin, end


def launch_bytes(config: LaunchConfig, sharedmem: int, patience: int = 0) -> Any:
    """Return a launch's shape as kernels read it."""
    return ctypes.create_string_buffer(
        _LAUNCH.pack(*config.griddim, *config.blockdim, sharedmem, patience), _LAUNCH.size
    )


def params_buffer(params: Any) -> Any:
    """Return params as something ctypes passes as a pointer."""
    if isinstance(params, (bytes, ctypes.Array)):
        return params
    view = memoryview(params)
    buffer = ctypes.c_char * view.nbytes
    return buffer.from_buffer_copy(view) if view.readonly else buffer.from_buffer(view)


def judge(report: bytes, function: HostFunction, config: LaunchConfig) -> Status:
    """Return the failure of a kernel's status: an exception, or from SPINS down a wait without progress.

    Raises LaunchError for any other status.
    """
    name = function.name.removeprefix("gridjit.")
    failure = _STATUS.unpack_from(report)
    code, block, thread = failure[0], failure[1:4], failure[4:7]
    if code == _NO_MEMORY:
        raise LaunchError(
            f"{name} [{config}]: there is not enough memory for a block's shared arrays and threads; launch smaller "
            "blocks, or declare smaller shared and local arrays"
        )
    if code == _STACK_ENDS:
        raise LaunchError(
            f"{name} [{config}], tid={list(_dim3(thread))} ctaid={list(_dim3(block))}: {too_deep(function)}"
        )
    if code == _STRANDED:
        raise LaunchError(
            f"{name} [{config}]: block {_dim3(block)} waits for the grid at this_grid().sync() (thread "
            f"{_dim3(thread)} is one of those there), but other blocks have ended, so it would wait for ever; call it "
            "where all blocks of the grid reach it"
        )
    if code == _DIVERGENT:
        raise LaunchError(
            f"{name} [{config}]: threads of block {_dim3(block)} wait at different "
            f"cuda.syncthreads() calls (thread {_dim3(thread)} is one of them), or at this_grid().sync(), so none can "
            "go on; call it, and functions of libraries that call it, where all threads of the block reach them"
        )
    if SPINS < code < 0:
        from gridjit.runtime.devices.host.kernel_errors import lane_trouble  # only its errors need it

        raise LaunchError(f"{name} [{config}]: {lane_trouble(code, _dim3(block), _dim3(thread), config.blockdim)}")
    return Status(code=code, block=_dim3(block), thread=_dim3(thread))


def _dim3(values: tuple[int, ...]) -> Dim3:
    return (values[0], values[1], values[2])


def too_deep(function: HostFunction) -> str:
    """Return the error in words, with advice, and with the numbers if the code tells them."""
    return (
        "recursion too deep: a device function calls itself until the stack of its thread, which also holds its "
        f"local arrays, is full{_numbers(function)}; recurse less deeply, declare smaller arrays, "
        "write it as a loop, or launch from a thread with a larger stack (threading.stack_size, ulimit -s)"
    )


def _numbers(function: HostFunction) -> str:
    if not function.told:
        return ""
    taken, more, limit = (ctypes.c_int64 * 3).from_address(function.told)
    return f" (it takes {taken:,} of the {limit:,} bytes available, and the next call may take {more:,} more)"
