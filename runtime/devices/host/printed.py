"""printed: kernels' output, kept by the C library in memory until their launch ends, then written to sys.stdout.

Launches that print at the same time share one stream: the first to end writes all complete lines.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from gridjit.base.forking import in_child, lock
from gridjit.compiler.targets.host.library.symbols import COUNTERS, RESOURCES, STREAM
from gridjit.runtime.simulated.allocations import counters

_SEEK_SET = 0


class _Stream:
    """A stream of the C library's that writes to memory; cell holds its address, which kernels read."""

    def __init__(self, cell: ctypes.c_void_p) -> None:
        self._text, self._size = ctypes.c_void_p(), ctypes.c_size_t()
        self._file = _library().open_memstream(ctypes.byref(self._text), ctypes.byref(self._size))
        cell.value = self._file

    def take(self) -> bytes:
        """Return the text printed since the last call. Kernels that print meanwhile wait."""
        library = _library()
        library.flockfile(self._file)
        try:
            library.fflush(self._file)
            text = ctypes.string_at(self._text.value or 0, self._size.value) if self._size.value else b""
            library.fseeko(self._file, 0, _SEEK_SET)
            return text
        finally:
            library.funlockfile(self._file)


# One cell for ever: loaded code has its address.
_cell = ctypes.c_void_p()
_streams: list[_Stream] = []
_showing = lock()


def stream_cell() -> int:
    """Return the address of the cell that holds the stream."""
    with _showing:
        if not _streams:
            _streams.append(_Stream(_cell))
    return ctypes.addressof(_cell)


def show() -> None:
    """Write kernels' output to sys.stdout."""
    with _showing:
        text = _streams[0].take().decode(errors="replace") if _streams else ""
        if text and sys.stdout is not None:
            sys.stdout.write(text)


@cache
def _library() -> Any:
    library: Any = ctypes.CDLL(None)
    library.open_memstream.restype = ctypes.c_void_p
    for name in ("flockfile", "funlockfile", "fflush"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.fseeko.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    return library


def _renew() -> None:
    """Print to a new stream: the parent's may be locked for ever, and its text is the parent's to show."""
    if _streams:
        _streams[:] = [_Stream(_cell)]


in_child(_renew)


_ADDRESSES: dict[str, Callable[[], int]] = {STREAM: stream_cell, COUNTERS: counters}


def addresses(resources: Iterable[str]) -> dict[str, int]:
    """Return the symbols of resources, with their addresses."""
    return {RESOURCES[name]: _ADDRESSES[RESOURCES[name]]() for name in resources if name in RESOURCES}
