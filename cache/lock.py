"""Single flight: of all threads and processes that want one job compiled, one does it while the others wait a while.

Within a process one lock per job; between processes an flock on <folder>/locks/<job>.lock, which the system releases
when its holder dies. A lock that cannot be had in time, or in that folder, is done without: that costs a duplicate
compile.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator

from gridjit.cache import files
from gridjit.cache.store import check_key
from gridjit.forking import held, in_child, lock, section

DEFAULT_TIMEOUT_S = 60.0
LOCK_FOLDER, LOCK_SUFFIX = "locks", ".lock"
_LOCK = re.compile(r"[0-9a-f]{8,128}\.lock")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


class _Job:
    """The lock of one job in this process: who may go on, how many want it, and its file while it is held."""

    __slots__ = ("descriptor", "lock", "wanted")

    def __init__(self) -> None:
        self.lock = lock()
        self.wanted = 0
        self.descriptor: int | None = None


class Locks:
    """The locks of jobs; with a cache folder, shared with every process that uses it.

    A thread that holds a job's lock gets it again at once. The table holds only what is wanted at the moment.
    allow_shared: lock in a folder that other users may write, where they can make this process wait.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, allow_shared: bool = False) -> None:
        self._folder = None if folder is None else os.fspath(folder)
        self._allow_shared = allow_shared
        self._forget_parent()
        _every_locks.add(self)

    @contextlib.contextmanager
    def single_flight(self, job: str, timeout: float = DEFAULT_TIMEOUT_S) -> Iterator[bool]:
        """Hold the lock of job's key for the block, waiting at most timeout seconds; yield whether it was had."""
        check_key(job)
        deadline = time.monotonic() + timeout
        entry = self._enter(job)
        outer = held(entry.lock)
        try:
            if not entry.lock.acquire(timeout=max(0.0, min(timeout, threading.TIMEOUT_MAX))):
                yield False
                return
            # A block inside one that had to do without the lock does not wait for it once more.
            yield self._lock_file(job, entry, 0.0 if outer else deadline)
        finally:
            # By what is held, not by how far this came: an interrupt may come between having it and knowing.
            taken = held(entry.lock) - outer
            if taken and not outer:
                self._unlock_file(job, entry)
            for _ in range(taken):
                entry.lock.release()
            self._leave(job, entry)

    def sweep(self) -> int:
        """Remove the lock files that holders which were killed left behind, and return how many there were."""
        removed = 0
        folder = f"{self._folder}/{LOCK_FOLDER}"
        for name in _names(folder):
            path = f"{folder}/{name}"
            if _LOCK.fullmatch(name) and (descriptor := _try_lock(path)) is not None:
                _unlink_and_close(path, descriptor)
                removed += 1
        return removed

    def _enter(self, job: str) -> _Job:
        with section(), self._guard:
            entry = self._table.setdefault(job, _Job())
            entry.wanted += 1
            return entry

    def _leave(self, job: str, entry: _Job) -> None:
        with section(), self._guard:
            entry.wanted -= 1
            if entry.wanted == 0 and self._table.get(job) is entry:
                del self._table[job]

    def _lock_file(self, job: str, entry: _Job, deadline: float) -> bool:
        if self._folder is None or entry.descriptor is not None:
            return True
        try:
            files.make_folder(self._folder)
            if not self._allow_shared and files.distrust(self._folder):
                return False
            mode = os.stat(self._folder).st_mode
            files.make_inner_folder(self._folder, LOCK_FOLDER, mode)
            entry.descriptor = _lock_before(self._path(job), mode & 0o666, deadline)
        except OSError:
            return False
        return entry.descriptor is not None

    def _unlock_file(self, job: str, entry: _Job) -> None:
        if entry.descriptor is not None:
            descriptor, entry.descriptor = entry.descriptor, None
            _unlink_and_close(self._path(job), descriptor)

    def _path(self, job: str) -> str:
        return f"{self._folder}/{LOCK_FOLDER}/{job}{LOCK_SUFFIX}"

    def _forget_parent(self) -> None:
        """Start with no locks, as a forked child must: the threads that held its copies are not in it."""
        inherited = getattr(self, "_table", {})
        self._guard = lock()
        self._table: dict[str, _Job] = {}
        for entry in inherited.values():
            if entry.descriptor is not None:
                # Only this copy goes; the lock stays with the parent, and ends with it.
                os.close(entry.descriptor)
                entry.descriptor = None


_every_locks: weakref.WeakSet[Locks] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for locks in list(_every_locks):
        locks._forget_parent()


in_child(_after_fork_in_child)


def _lock_before(path: str, mode: int, deadline: float) -> int | None:
    pause = _FIRST_PAUSE_S
    while (descriptor := _try_lock(path, mode)) is None:
        rest = deadline - time.monotonic()
        if rest <= 0:
            return None
        time.sleep(min(pause, rest))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    return descriptor


def _try_lock(path: str, mode: int | None = None) -> int | None:
    """Return a descriptor that holds the lock on the file at path, or None if another holds it or just removed it.

    With a mode, a file that is missing is made.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (0 if mode is None else os.O_CREAT), mode or 0)
    except FileNotFoundError:
        if mode is not None:
            raise
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The holder removes the file before it lets go; a lock on a removed file excludes nobody.
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _unlink_and_close(path: str, descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
    # Unlocked by name: a child forked meanwhile may still have a copy of the descriptor.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
