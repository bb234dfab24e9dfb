"""carrying: copies bytes between the host's arrays and page-locked memory, by several threads, piece by piece.

While the threads copy one piece, the device copies other pieces. The threads are the host's grid threads, in machine
code, or Python's where there is no machine code. Only a process that copies so much more than once loads it: that takes
some milliseconds, and a second to make.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import struct
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gridjit.base.stacks import in_room
from gridjit.base.values import dataclass
from gridjit.cache.store import Store
from gridjit.runtime.devices.cuda.api.plain_api import ResultCode
from gridjit.runtime.devices.host.pool import pool
from gridjit.runtime.queues.streams import PER_THREAD

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.api.driver import Driver
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.native.engine import Engine
    from gridjit.runtime.native.layout.grid_records import KernelRecord, TransferRecord

# The device's least and largest piece.
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 16 << 20
# A thread's piece in machine code and from Python; and a transfer that is worth more than one thread.
_CHUNK_BYTES, _PART_BYTES = 256 << 10, 2 << 20
_LARGE_BYTES = 512 << 10
# More threads than these are not faster.
_THREADS, _HELPERS = 12, 7
# The number of the transfer that loads machine code.
_OFTEN = 3
# Chunks are dealt one at a time: there are never this many.
_SINGLY = 1 << 20
# A launch's shape: the grid, blocks of one thread, and no shared memory.
_SHAPE = struct.Struct("=7i")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedCopy:
    """Bytes on their way: addresses in an array of the host's, in page-locked memory, and on the device.

    owner: the array's owner.
    """

    here: int
    block: int
    there: int
    size: int
    owner: object


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces of a copy, ever larger: the first arrives soon, and few copies are small."""
    at, piece = 0, _LEAST_BYTES
    while at < size:
        length = min(piece, size - at)
        yield at, length
        at, piece = at + length, min(2 * piece, _MOST_BYTES)


class Carrier:
    """Copies a device's transfers. store: returns the store of machine code; None: Python's threads copy them.

    After an interrupt, threads of Python's may go on for a moment.
    """

    def __init__(self, device: CudaDevice, store: Callable[[], Store] | None) -> None:
        self._driver = device.driver
        self._device = device
        self._store = store
        self._count = 0
        self._machine: MachineCarrier | None = None

    def write(self, one: StagedCopy, stream: int) -> None:
        """Copy a transfer to the device, in a stream; its array may be changed when this returns."""
        is_anybodys = stream != PER_THREAD and (stream != 0 or self._driver.default_is_legacy)
        if is_anybodys and (machine := self._found(one.size)) is not None:
            machine.write(one, stream, self._device.context)
            return
        for start, length in pieces(one.size):
            _by_python(one.block + start, one.here + start, length, one.owner)
            self._driver.copy(one.there + start, one.block + start, length, stream)

    def read(self, one: StagedCopy, coming: Sequence[tuple[int, int, int]]) -> None:
        """Copy a transfer to its array. coming: each piece's beginning, its size, and the event of its end."""
        # Machine code polls the later events while it copies.
        self._driver.synchronize_event(coming[0][2])
        if (machine := self._found(one.size)) is not None:
            machine.read(one, coming, self._device.context)
            return
        for start, length, event in coming:
            self._driver.synchronize_event(event)
            _by_python(one.here + start, one.block + start, length, one.owner)

    def _found(self, size: int) -> MachineCarrier | None:
        if size < _LARGE_BYTES:
            return None
        # Each number is seen, however many threads count at once.
        count = self._count = self._count + 1
        if count == _OFTEN and self._store is not None:
            from gridjit.runtime.native.engine import engine  # few processes copy so much

            store = self._store
            if (found := in_room(lambda: engine(store()))) is not None:
                self._machine = MachineCarrier(self._driver, found)
        return self._machine


class MachineCarrier:
    """Copies transfers in machine code, by the threads that run grids, as one of their kernels does."""

    def __init__(self, driver: Driver, engine: Engine) -> None:
        from gridjit.runtime.native.layout import grid_records as records
        from gridjit.runtime.native.placement import for_ever

        self._driver, self._engine, self._records = driver, engine, records
        self._functions = {
            "set_context": driver.entry_point("cuCtxSetCurrent"),
            "copy": driver.entry_point("cuMemcpyHtoDAsync"),
            "query": driver.entry_point("cuEventQuery"),
            "move": ctypes.cast(ctypes.CDLL(None).memmove, ctypes.c_void_p).value,
        }
        # Never freed: a late thread may still read it.
        self._kernel: KernelRecord = for_ever(
            records.KernelRecord(
                entry=engine.transfer,
                engine=ctypes.addressof(engine.record),
                low=engine.transfer,
                high=engine.transfer,  # no thread is stopped in it
                threads=min(_THREADS, os.cpu_count() or 1),
                piece=records.PIECE_PS,
                chunks=_SINGLY,
            )
        )

    def write(self, one: StagedCopy, stream: int, context: int) -> None:
        """Copy a transfer to the device, in a stream."""
        record = self._record(one, context, stream=stream)
        for number, (start, length) in enumerate(pieces(one.size)):
            record.piece[number] = self._records.PieceRecord(start=start, end=start + length, left=length)
        self._run(record, "cuMemcpyHtoDAsync")

    def read(self, one: StagedCopy, coming: Sequence[tuple[int, int, int]], context: int) -> None:
        """Copy a transfer's bytes to its array."""
        record = self._record(one, context, outward=1)
        for number, (start, length, event) in enumerate(coming):
            record.piece[number] = self._records.PieceRecord(start=start, end=start + length, event=event)
        self._run(record, "cuEventQuery")

    def _record(self, one: StagedCopy, context: int, *, stream: int = 0, outward: int = 0) -> TransferRecord:
        return self._records.TransferRecord(
            **self._functions,
            context=context,
            stream=stream,
            here=one.here,
            block=one.block,
            there=one.there,
            size=one.size,
            chunk=_CHUNK_BYTES,
            outward=outward,
        )

    def _run(self, record: TransferRecord, call: str) -> None:
        """Copy all chunks, without the GIL; raises the driver's error, or a signal handler's exception."""
        shape = _SHAPE.pack(-(-record.size // record.chunk), 1, 1, 1, 1, 1, 0)
        status = ctypes.create_string_buffer(self._records.STATUS_BYTES)
        code = self._engine.call(ctypes.byref(self._kernel), shape, ctypes.byref(record), 0, status)
        if code:
            raise self._driver.error(call, ResultCode(code))


def _by_python(to: int, source: int, size: int, owner: object) -> None:
    """Copy within the host's memory, by this and other Python threads."""
    parts = range(0, size, _PART_BYTES)
    turns, ended, all_ended = iter(parts), itertools.count(1), allocate_lock()
    failed: list[BaseException] = []
    all_ended.acquire()

    def take_parts(owner: object = owner) -> None:
        for at in turns:
            take(at)

    def take(at: int) -> None:
        try:
            ctypes.memmove(to + at, source + at, min(_PART_BYTES, size - at))
        except BaseException as error:
            failed.append(error)
        finally:
            if next(ended) == len(parts):
                all_ended.release()

    if len(parts) > 1:
        pool().help(take_parts, min(_HELPERS, len(parts) - 1, max((os.cpu_count() or 1) - 1, 1)))
    take_parts()
    all_ended.acquire()
    if failed:
        raise failed[0]
