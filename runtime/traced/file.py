"""TraceFile: a JSON array of events that any number of processes add to; it is valid JSON at every moment.

The format is Chrome's "Trace Event Format" (an array of objects), which ui.perfetto.dev and chrome://tracing open. Each
addition replaces the end of the array with one write under the file's lock, which dies with its holder: a process that
is killed leaves its earlier writes, and nothing else. A file with any other content is left unchanged. If a file cannot
be written, one warning says so, and no launch fails.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gridjit.base.forking import lock, section
from gridjit.cache.errors import warn

_MODE = 0o644
_START, _END, _BETWEEN = b"[\n", b"\n]\n", b",\n"

TraceEvent = dict[str, Any]


class TraceFile:
    """A trace at a path; `%p` in it stands for the process's number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = lock()
        self._warned = False

    def add(self, events: Iterable[TraceEvent]) -> None:
        """Add events to the array, all at once."""
        # Escaped, so that names are ASCII: no half of a character can be torn from them.
        rows = [json.dumps(event, separators=(",", ":"), default=str).encode("ascii") for event in events]
        if not rows:
            return
        try:
            with section(), self._lock:
                _append(self.here(), _BETWEEN.join(rows))
        except (OSError, ValueError) as error:
            self._tell(error)

    def here(self) -> str:
        """Return the path of this process's trace: a child's is its own if the name has %p."""
        return str(self._path).replace("%p", str(os.getpid()))

    def _tell(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            way_on = "Set it to a new file, or not at all."
            warn(f"GRIDJIT_TRACE={self._path} cannot be written: {error}. {way_on}")


def _append(path: str, rows: bytes) -> None:
    # Not blocking: a pipe without a reader would make the launch wait.
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags, _MODE)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _write(descriptor, rows)
    finally:
        os.close(descriptor)


def _write(descriptor: int, rows: bytes) -> None:
    """Add rows at the end of the array, or begin an array in an empty file."""
    size = os.fstat(descriptor).st_size
    if not size:
        os.pwrite(descriptor, _START + rows + _END, 0)
        return
    if os.pread(descriptor, len(_START), 0) != _START or os.pread(descriptor, len(_END), size - len(_END)) != _END:
        raise ValueError("it holds something else")
    os.pwrite(descriptor, _BETWEEN + rows + _END, size - len(_END))
