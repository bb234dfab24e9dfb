"""launch: run a grid on the host. The blocks are dealt out in chunks to the calling thread and its helpers.

The calling thread runs the first chunk by itself and calls for help only if what is left is worth waking a thread
for, so small grids cost one call.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
import time
from typing import Any

from gridjit.compiler.errors import LaunchError
from gridjit.compiler.launch_config import Dim3, LaunchConfig
from gridjit.runtime.devices.host.load import HostFunction
from gridjit.values import dataclass

# The codes the driver returns on its own account (see the host target's driver).
_DIVERGENT = -1
_NO_MEMORY = -2

_LAUNCH = struct.Struct("=7i")
_STATUS = struct.Struct("=7i")
# Chunks per thread: enough for uneven blocks to balance, few enough for a chunk to be worth its call.
_CHUNKS = 16
# What is left must take at least this long for helpers to be woken.
_WORTH_HELP = 100e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a kernel failed: its exception code, and the block and thread that returned it."""

    code: int
    block: Dim3
    thread: Dim3


def launch(function: HostFunction, config: LaunchConfig, params: Any, sharedmem: int, threads: int) -> Status | None:
    """Run function over config's grid on up to threads threads; return None, or the first exception's status.

    params: the packed parameters (bytes, bytearray or a ctypes buffer). sharedmem: dynamic shared bytes of a block.
    Raises LaunchError if threads of a block wait at different barriers, or for want of memory.
    """
    run = _Run(
        function=function,
        params=_buffer(params),
        launch=ctypes.create_string_buffer(_LAUNCH.pack(*config.griddim, *config.blockdim, sharedmem), _LAUNCH.size),
        blocks=config.griddim[0] * config.griddim[1] * config.griddim[2],
    )
    _deal(run, threads)
    return None if run.failure is None else _judge(run.failure, function, config)


class _Run:
    """One grid being run: what is left to hand out, who is at work, and what went wrong."""

    __slots__ = ("blocks", "chunk", "chunks", "condition", "failure", "function", "launch", "open", "params", "working")

    def __init__(self, *, function: HostFunction, params: Any, launch: Any, blocks: int) -> None:
        self.function = function
        self.params = params
        self.launch = launch
        self.blocks = blocks
        self.chunk = 1
        self.chunks = itertools.count()
        self.working = 0
        self.open = True
        self.failure: tuple[int, ...] | None = None
        self.condition = threading.Condition()

    def some(self, first: int, last: int) -> bool:
        """Run blocks first to last - 1; return whether all went well."""
        status = ctypes.create_string_buffer(_STATUS.size)
        if self.function.call(self.params, self.launch, first, last, status) == 0:
            return True
        failure = _STATUS.unpack(status.raw)
        with self.condition:
            if self.failure is None:
                self.failure = failure
        return False

    def take_chunks(self, start: int) -> None:
        """Run chunks from block start on until none is left or something failed."""
        while self.failure is None:
            first = start + next(self.chunks) * self.chunk
            if first >= self.blocks or not self.some(first, min(first + self.chunk, self.blocks)):
                return


def _deal(run: _Run, threads: int) -> None:
    """Run all blocks of run."""
    run.chunk = max(1, run.blocks // (_CHUNKS * max(1, threads)))
    if threads <= 1 or run.blocks == 1:
        run.some(0, run.blocks)
        return
    start = time.perf_counter()
    if not run.some(0, run.chunk):
        return
    left = (time.perf_counter() - start) * (run.blocks - run.chunk) / run.chunk
    if left < _WORTH_HELP:
        run.some(run.chunk, run.blocks)
        return
    _share(run, threads, run.chunk)


def _share(run: _Run, threads: int, start: int) -> None:
    """Run the blocks from start on, together with helpers; return when all are done."""

    def assist() -> None:
        with run.condition:
            if not run.open:
                return
            run.working += 1
        try:
            run.take_chunks(start)
        finally:
            with run.condition:
                run.working -= 1
                run.condition.notify_all()

    from gridjit.runtime.devices.host.pool import pool  # small grids are not shared

    pool().help(assist, min(threads - 1, -(-(run.blocks - start) // run.chunk) - 1))
    try:
        run.take_chunks(start)
    finally:
        # Also after an interrupt: helpers at work still use the caller's memory. One that only comes now does nothing.
        with run.condition:
            run.open = False
            run.condition.wait_for(lambda: run.working == 0)


def _buffer(params: Any) -> Any:
    """Return params as something ctypes passes as a pointer."""
    if isinstance(params, (bytes, ctypes.Array)):
        return params
    view = memoryview(params)
    buffer = ctypes.c_char * view.nbytes
    return buffer.from_buffer_copy(view) if view.readonly else buffer.from_buffer(view)


def _judge(failure: tuple[int, ...], function: HostFunction, config: LaunchConfig) -> Status:
    name = function.name.removeprefix("gridjit.")
    code, block, thread = failure[0], failure[1:4], failure[4:7]
    if code == _NO_MEMORY:
        raise LaunchError(f"{name} [{config}]: there is not enough memory for a block's shared arrays and threads")
    if code == _DIVERGENT:
        raise LaunchError(
            f"{name} [{config}]: threads of block {_dim3(block)} wait at different "
            f"cuda.syncthreads() calls (thread {_dim3(thread)} is one of them), so none can go on; call it where all "
            "threads of the block reach it"
        )
    return Status(code=code, block=_dim3(block), thread=_dim3(thread))


def _dim3(values: tuple[int, ...]) -> Dim3:
    return (values[0], values[1], values[2])
