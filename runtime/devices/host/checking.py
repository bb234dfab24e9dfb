"""Checking: a launch of a debug kernel with its checks' memory, and the errors for their findings."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

from gridjit.base.forking import lock
from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import RaceError, UninitializedError
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig
from gridjit.runtime.devices import findings
from gridjit.runtime.devices.exceptions import kernel_exception
from gridjit.runtime.devices.host.checked_arguments import Arguments
from gridjit.runtime.devices.host.launch import Status
from gridjit.runtime.devices.host.load import HostFunction
from gridjit.runtime.memory.unwritten import Unwritten, unwritten

# The code's symbols for Python: the address of a launch's state, and a function that frees its memory.
SYMBOLS = (record.STATE, "gridjit.checks.end")
_WORDS = {record.READ: "reads", record.WRITE: "writes", record.ATOMIC: "atomically changes"}
_SPACES = {record.GLOBAL: "", record.SHARED: "shared ", record.LOCAL: "local "}
_WRITE_FIRST = "write it first: shared arrays, local arrays and device_array are not cleared"
_IN_A_BLOCK = "order them with cuda.syncthreads() or with atomic operations"
_ACROSS_BLOCKS = "order blocks with atomic operations, cuda.cg.this_grid().sync() or two launches"
# A report, and an index outside an array, as checks write them.
_REPORT = struct.Struct("=5Q")
_OUTSIDE = struct.Struct("=4q")
_WORD = struct.Struct("=Q")
# The parts of a launch's memory after the state, and their sizes. The first two must be zero when it begins.
_STATE_END = -(-record.STATE_BYTES // 64) * 64
_PARTS = (
    (record.BUCKETS, 8 << record.BUCKET_BITS),
    (record.RECENT, record.MOST_SITES * record.RECENT_BYTES),
    (record.REPORTS, record.MOST_REPORTS * record.REPORT_BYTES),
    (record.OUTSIDE, record.MOST_OUTSIDE * record.OUTSIDE_BYTES),
)
# And a few bytes for the tables of a block that has no shared memory.
_NOTHING = 64
_ALL = _STATE_END + sum(size for _, size in _PARTS) + _NOTHING
_ZERO = _STATE_END + sum(size for _, size in _PARTS[:2])
# The memory of a finished launch, if there is any. To take it is one step.
_free: list[Any] = []
_TABLES = (
    (record.SHARED_WRITES, "WRITES"),
    (record.SHARED_READS, "READS"),
    (record.SHARED_ATOMICS, "ATOMICS"),
    (record.SHARED_UNWRITTEN, "WRITES"),
)


class Checking:
    """Checks the launches of one debug kernel, which run one at a time."""

    def __init__(self, artifact: Artifact, function: HostFunction) -> None:
        self._artifact = artifact
        told = artifact.metadata["checks"]
        self._places = told["places"]
        self._arguments = Arguments.of(artifact.parameters, told)
        self._shared = artifact.resources["shared_bytes"] + artifact.resources.get("checks_shared_bytes", 0)
        self._state = ctypes.c_void_p.from_address(function.others[0])
        self._end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function.others[1])
        self._last: tuple[object, Any] | None = None
        self._lock = lock()

    def launch(self, config: LaunchConfig, parameters: bytes, sharedmem: int, run: Callable[[], Status | None]) -> None:
        """Run a launch; raises the kernel's exception, or else its checks' findings.

        parameters: as the kernel's code reads them. sharedmem: dynamic shared bytes of a block.
        """
        followed = unwritten()
        state = _State(followed, self._table(parameters, followed, config), self._shared + sharedmem)
        with self._lock:
            # A signal's handler may launch the kernel again in the middle of this.
            before = self._state.value
            self._state.value = state.address
            try:
                failure = run()
            finally:
                self._state.value = before
                state.keep_spare()
                self._end(state.address)
        outside, reports = None, state.reports()
        if failure is not None:
            outside = state.outside(_linear(failure.block, config.griddim), _linear(failure.thread, config.blockdim))
        state.give_back()
        if failure is not None:
            raise kernel_exception(self._artifact, failure.code, failure.block, failure.thread, outside)
        self._judge(reports, config)

    def _table(self, parameters: bytes, followed: list[Unwritten], config: LaunchConfig) -> Any:
        """Return the table of a launch's arguments: the last launch's, if the arguments are the same."""
        if followed:
            return self._arguments.table(parameters, followed, config)
        key = (bytes(parameters), config.griddim, config.blockdim)
        if (last := self._last) is None or last[0] != key:
            last = self._last = (key, self._arguments.table(parameters, followed, config))
        return last[1]

    def _judge(self, reports: list[tuple[int, ...]], config: LaunchConfig) -> None:
        if found := _essential(reports):
            kind = _error_of(found[0][0])
            texts = [self._sentence(report, config) for report in found]
            for (what, _, mine, other, _), text in zip(found, texts, strict=True):
                places = (mine & (record.MOST_SITES - 1), other & (record.MOST_SITES - 1))
                named = f"{_error_of(what).__name__}: {self._artifact.kernel}: {text}"
                findings.note((self._artifact.kernel, what, *places), named)
            lines = "\n  ".join(texts)
            raise kind(f"{self._artifact.kernel}: {lines}; {_cure(found)}")

    def _sentence(self, report: tuple[int, ...], config: LaunchConfig) -> str:
        what, _, mine, other, kinds = report
        array = self._place(mine)[3]
        whose = _SPACES[kinds >> 16 & 255] + (f"array '{array}'" if array else "memory")
        first = self._access(mine, kinds & 255, config)
        if what == record.UNWRITTEN:
            return f"{first} an item of {whose} that nothing has written"
        second = self._access(other, kinds >> 8 & 255, config)
        return f"{first} an item of {whose} that {second}, and nothing orders the two"

    def _place(self, access: int) -> Sequence[Any]:
        """Return an access's place in the source: file, line, function, and array."""
        found: Sequence[Any] = self._places[str(access & (record.MOST_SITES - 1))]
        return found

    def _access(self, access: int, kind: int, config: LaunchConfig) -> str:
        """Return an access in words: thread, place in the source, kind."""
        file, line, function, _ = self._place(access)
        thread = access >> record.THREAD_AT & ((1 << record.THREAD_BITS) - 1)
        who = f"thread {_place(thread, config.blockdim)} of block {_place(access >> record.BLOCK_AT, config.griddim)}"
        where = f" ({os.path.basename(file)}:{line}, in {function})" if file else ""
        return f"{who}{where} {_WORDS[kind]}"


class _State:
    """The memory that one launch's checks write to."""

    def __init__(self, followed: list[Unwritten], arguments: Any, shared: int) -> None:
        self._followed = followed
        self._arguments = arguments
        masks = [one.mask for one in followed]
        self._ranges = (ctypes.c_uint64 * (3 * len(followed) + 1))(
            *(word for one, mask in zip(followed, masks, strict=True) for word in (one.address, one.size, _at(mask)))
        )
        self._memory = _cleared()
        self.address = ctypes.addressof(self._memory)
        at = self.address + _STATE_END
        for offset, size in _PARTS:
            self._set(offset, at)
            at += size
        self._share(shared)
        self._set(record.RANGES, ctypes.addressof(self._ranges))
        self._set(record.RANGE_COUNT, len(followed))
        self._set(record.SPARE, take())
        self._set(record.ARGUMENTS, ctypes.addressof(arguments))
        for offset, function in _functions():
            self._set(offset, function)

    def keep_spare(self) -> None:
        """Keep some of the launch's memory for the next launch; the rest will be given back."""
        left = keep(self._get(record.CHUNK), self._get(record.CHUNK_USED), self._get(record.SPARE))
        self._set(record.CHUNK, left)

    def give_back(self) -> None:
        """Leave the memory to the next launch, once its last reader is done."""
        if not _free:
            _free.append(self._memory)

    def _share(self, size: int) -> None:
        """Make the tables of a block's shared memory: they have places for each byte, and cost as much as is used."""
        self._set(record.SHARED_BYTES, size)
        at = self.address + _ALL - _NOTHING
        if size:
            self._tables = mmap.mmap(-1, 8 * size * sum(record.WORDS[plane] for _, plane in _TABLES))
            at = ctypes.addressof(ctypes.c_char.from_buffer(self._tables))
        for offset, plane in _TABLES:
            self._set(offset, at)
            at += 8 * size * record.WORDS[plane]

    def _set(self, offset: int, value: int) -> None:
        _WORD.pack_into(self._memory, offset, value)

    def _get(self, offset: int) -> int:
        return int(_WORD.unpack_from(self._memory, offset)[0])

    def reports(self) -> list[tuple[int, ...]]:
        """Return the findings: kind, address, the access that found it, the other access, their kinds."""
        at, count = self._get(record.REPORTS) - self.address, self._get(record.REPORT_COUNT)
        return [_REPORT.unpack_from(self._memory, at + n * _REPORT.size) for n in range(count)]

    def outside(self, block: int, thread: int) -> tuple[int, int] | None:
        """Return the index that a thread used and the size of its axis, if it was noted."""
        at = self._get(record.OUTSIDE) - self.address
        for number in range(self._get(record.OUTSIDE_COUNT)):
            index, size, *who = _OUTSIDE.unpack_from(self._memory, at + number * _OUTSIDE.size)
            if who == [block, thread]:
                return index, size
        return None


def _cleared() -> Any:
    """Return memory for a launch; the state and the parts that must be zero are zero."""
    try:
        memory = _free.pop()
    except IndexError:
        return ctypes.create_string_buffer(_ALL)
    ctypes.memset(memory, 0, _ZERO)
    return memory


@functools.cache
def _functions() -> tuple[tuple[int, int], ...]:
    """Return the system functions that checks call: for each, its place in the state and its address."""
    system = ctypes.CDLL(None)
    pairs = ((record.TAKE, system.mmap), (record.GIVE, system.munmap), (record.ADVISE, system.madvise))
    return tuple((offset, ctypes.cast(function, ctypes.c_void_p).value or 0) for offset, function in pairs)


def _error_of(what: int) -> type[RaceError] | type[UninitializedError]:
    return RaceError if what == record.RACE else UninitializedError


def _essential(reports: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the reads of unwritten memory, unless they race: they may come before the write; then the races.

    Several threads may write equal values, so whether reads of unwritten memory race differs by run.
    """
    racing = [(mine, other) for what, _, mine, other, _ in reports if what == record.RACE]
    places = {access & (record.MOST_SITES - 1) for pair in racing for access in pair}
    races = [report for report in reports if report[0] == record.RACE]
    return [r for r in reports if r[0] != record.RACE and r[2] & (record.MOST_SITES - 1) not in places] + races


def _cure(found: list[tuple[int, ...]]) -> str:
    """Return the advice on findings: on the first kind of them, and on threads of one block before those of several."""
    if found[0][0] != record.RACE:
        return _WRITE_FIRST
    in_a_block = any(mine >> record.BLOCK_AT == other >> record.BLOCK_AT for _, _, mine, other, _ in found)
    return _IN_A_BLOCK if in_a_block else _ACROSS_BLOCKS


def _at(mask: Any) -> int:
    return int(mask.ctypes.data)


def _linear(place: Dim3, dimensions: Dim3) -> int:
    return place[0] + dimensions[0] * (place[1] + dimensions[1] * place[2])


def _place(number: int, dimensions: Dim3) -> Dim3:
    row, x = divmod(number, dimensions[0])
    z, y = divmod(row, dimensions[1])
    return x, y, z


_MOST = 128 << 20
# Unused chunks, as one list by the address of its first. To take it all is one step.
_kept: list[int] = []


def take() -> int:
    """Return the list of all kept chunks, and keep none; 0 without any."""
    try:
        return _kept.pop()
    except IndexError:
        return 0


def keep(used: int, far: int, unused: int) -> int:
    """Keep a finished launch's chunks, up to a limit; return the list of the rest.

    used: the list of chunks that it wrote to, the first only up to far; unused: the list of untouched chunks.
    """
    dirty, clean = _chunks(used), _chunks(unused)
    ends = {used: far}
    kept, rest, total = list[tuple[int, int]](), list[tuple[int, int]](), 0
    for at, size in [*clean, *sorted(dirty, key=lambda one: one[1])]:
        total += size
        (kept if total <= _MOST else rest).append((at, size))
    written = {at for at, _ in dirty}
    for at, size in kept:
        if at in written:
            ctypes.memset(at, 0, ends.get(at, size))
    if kept:
        _kept.append(_listed(kept))
    return _listed(rest)


def _chunks(first: int) -> list[tuple[int, int]]:
    found = []
    while first:
        following, size = (ctypes.c_uint64 * 2).from_address(first)
        found.append((first, size))
        first = following
    return found


def _listed(chunks: list[tuple[int, int]]) -> int:
    following = 0
    for at, size in reversed(chunks):
        (ctypes.c_uint64 * 2).from_address(at)[:] = [following, size]
        following = at
    return following
