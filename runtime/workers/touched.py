"""touched: the memory that a compile writes to, so that a process can copy it while it waits for its first task.

A forked process shares its parent's memory until it writes to it; then the system copies it, page by page. A first
compile writes to ten thousand pages, and their copies take a fifth of its time. An earlier copy does not change the
memory's content. Where the system does not tell which pages were copied, or cannot copy pages on request, they are
copied when they are written to, as usual.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy

from gridjit.runtime.workers.forks import end_with, fork

# The address of contiguous pages, and their bytes.
Stretch: TypeAlias = "tuple[int, int]"

# A request to madvise: copy pages as if each had been written to (Linux 5.14 and later).
_POPULATE_WRITE = 23
# Linux's answer about each page, in 8 bytes; and the bits of a page that is in memory, and in no other process.
_PAGEMAP = "/proc/self/pagemap"
_OWN = (1 << 63) | (1 << 56)
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Bytes of an address and a size in a row.
_ROW = 16


def touched_by(work: Callable[[], object]) -> tuple[Stretch, ...]:
    """Return this process's memory that a forked process copies during work; nothing if that is unknown.

    For a process without other threads. Output of work is not seen.
    """
    parent, (ours, theirs) = os.getpid(), os.pipe()
    with open(ours, "rb") as told, open(theirs, "wb") as telling:
        try:
            pid = fork()
        except OSError:
            return ()
        if not pid:
            try:
                end_with(parent)
                _say_nothing()
                telling.write(_touched_by(work).tobytes())
                telling.flush()
            finally:
                os._exit(0)
        telling.close()
        data = told.read()
    with contextlib.suppress(ChildProcessError):  # the system may reap children by itself
        os.waitpid(pid, 0)
    if len(data) % _ROW:  # it was ended in the middle
        return ()
    found = numpy.frombuffer(data, dtype=numpy.uint64).reshape(-1, 2)
    return tuple((start, size) for start, size in found.tolist())


def _say_nothing() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)


def copy_ahead(stretches: tuple[Stretch, ...]) -> None:
    """Copy memory that this process shares with its parent, as if it had written to it."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, size in stretches:
        madvise(start, size, _POPULATE_WRITE)  # memory that is gone, or cannot be copied, is left as it is


def _touched_by(work: Callable[[], object]) -> numpy.ndarray[tuple[int, int], numpy.dtype[numpy.uint64]]:
    """Do work, and return a row for each stretch of earlier memory that this process has copied."""
    found: list[Stretch] = []
    with contextlib.suppress(OSError), open(_PAGEMAP, "rb", buffering=0) as pages:
        before = [*_writable()]
        work()
        for start, end in before:
            data = os.pread(pages.fileno(), (end - start) // _PAGE * 8, start // _PAGE * 8)
            own = (numpy.frombuffer(data, dtype=numpy.uint64) & numpy.uint64(_OWN)) == _OWN
            edges = numpy.flatnonzero(numpy.diff(own, prepend=False, append=False)).reshape(-1, 2)
            found += [(start + first * _PAGE, (after - first) * _PAGE) for first, after in edges.tolist()]
    return numpy.array(found, dtype=numpy.uint64)


def _writable() -> Iterator[tuple[int, int]]:
    """Yield the addresses, from first to last, of this process's own, writable memory."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            place, rights, _ = line.split(maxsplit=2)
            if rights == "rw-p":
                start, end = place.split("-")
                yield int(start, 16), int(end, 16)
