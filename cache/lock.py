"""Single flight: of all threads and processes that need one job, one compiles it and the others wait for a while.

Within a process one lock per job; between processes an flock on <folder>/locks/<job>.lock, which the system releases
when its holder dies. If a lock cannot be taken in time, or in that folder, the job is compiled without it, at worst
twice. A link, a pipe or a file of another user in a lock's place is not a lock, and is left as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator

from gridjit.cache.files import make_below, opened
from gridjit.cache.folder import FILE, LIST, Folder, check_file, close, folder_at, make_folder, open_folder, open_inner
from gridjit.cache.store import check_key
from gridjit.forking import held, in_child, lock, section
from gridjit.interrupts import let_through, tolerated

DEFAULT_TIMEOUT_S = 60.0
LOCK_FOLDER, LOCK_SUFFIX = "locks", ".lock"
_LOCK = r"[0-9a-f]{8,128}\.lock"  # compiled when first used
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


class _Held:
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
        self._folder = None if folder is None else folder_at(folder, shared=allow_shared)
        self._table: dict[str, _Held] = {}
        self._forget_parent()
        _all_locks.add(self)

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
        if self._folder is None:
            return removed
        for name in _names(self._folder):
            descriptor = None
            with tolerated(OSError):  # gone meanwhile, or no lock
                descriptor = _try_lock(self._folder, name) if re.fullmatch(_LOCK, name) else None
            if descriptor is not None:
                _unlink_and_close(self._folder, name, descriptor)
                removed += 1
        return removed

    def _enter(self, job: str) -> _Held:
        with section(), self._guard:
            entry = self._table.setdefault(job, _Held())
            entry.wanted += 1
            return entry

    def _leave(self, job: str, entry: _Held) -> None:
        with section(), self._guard:
            entry.wanted -= 1
            if entry.wanted == 0 and self._table.get(job) is entry:
                del self._table[job]

    def _lock_file(self, job: str, entry: _Held, deadline: float) -> bool:
        if self._folder is None or entry.descriptor is not None:
            return True
        try:
            make_folder(self._folder.path)
            entry.descriptor = _lock_before(self._folder, job + LOCK_SUFFIX, deadline)
        except OSError as error:
            let_through(error)
            return False
        return entry.descriptor is not None

    def _unlock_file(self, job: str, entry: _Held) -> None:
        if self._folder is not None and entry.descriptor is not None:
            descriptor, entry.descriptor = entry.descriptor, None
            _unlink_and_close(self._folder, job + LOCK_SUFFIX, descriptor)

    def _forget_parent(self) -> None:
        """Start with no locks, as a forked child must: the threads that held its copies are not in it."""
        inherited = self._table
        self._guard = lock()
        self._table = {}
        for entry in inherited.values():
            if entry.descriptor is not None:
                # Only this copy goes; the lock stays with the parent, and ends with it.
                close(entry.descriptor)
                entry.descriptor = None


_all_locks: weakref.WeakSet[Locks] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for locks in list(_all_locks):
        locks._forget_parent()


in_child(_after_fork_in_child)


def _lock_before(folder: Folder, name: str, deadline: float) -> int | None:
    pause = _FIRST_PAUSE_S
    while (descriptor := _try_lock(folder, name, make=True)) is None:
        rest = deadline - time.monotonic()
        if rest <= 0:
            return None
        time.sleep(min(pause, rest))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    return descriptor


def _try_lock(folder: Folder, name: str, *, make: bool = False) -> int | None:
    """Return a descriptor that holds the lock of that name, or None if another holds it or just removed it.

    make: whether to make a missing file. Raises an OSError if the lock cannot exist.
    """
    with opened(_make_lock_folder(folder) if make else open_inner(folder, LOCK_FOLDER)) as directory:
        return _try_lock_in(folder, directory, name, make)


def _try_lock_in(folder: Folder, directory: int, name: str, make: bool) -> int | None:
    import fcntl  # a process that only finds takes no lock

    mode = os.fstat(directory).st_mode & 0o666
    descriptor = os.open(name, os.O_RDWR | FILE | (os.O_CREAT if make else 0), mode, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        check_file(folder, found, name)
        if found.st_nlink > 1:
            raise OSError(errno.EMLINK, "A lock with another name elsewhere", name)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The holder removes the file before it lets go; a lock on a removed file excludes nobody.
        if _is_named(descriptor, name, directory):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        close(descriptor)
        raise
    close(descriptor)
    return None


def _make_lock_folder(folder: Folder) -> int:
    with opened(open_folder(folder)) as top:
        return make_below(folder, top, LOCK_FOLDER)


def _is_named(descriptor: int, name: str, directory: int) -> bool:
    """Return whether the name is still that of an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _unlink_and_close(folder: Folder, name: str, descriptor: int) -> None:
    import fcntl

    with tolerated(OSError), opened(open_inner(folder, LOCK_FOLDER)) as directory:
        if _is_named(descriptor, name, directory):
            os.unlink(name, dir_fd=directory)
    # Unlocked by name: a child forked meanwhile may still have a copy of the descriptor.
    with tolerated(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    close(descriptor)


def _names(folder: Folder) -> list[str]:
    try:
        with opened(open_inner(folder, LOCK_FOLDER, LIST)) as directory:
            return os.listdir(directory)
    except OSError as error:
        let_through(error)
        return []
