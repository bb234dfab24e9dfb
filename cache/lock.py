"""Single flight: of all threads and processes that need one job, one compiles it and the others wait for a while.

Within a process one lock per job; between processes an flock on <folder>/locks/<job>.lock, which the system releases
when its holder dies. If a lock cannot be taken in time, or in that folder, the job is compiled without it, at worst
twice. A link, a pipe or a file of another user in a lock's place is not a lock, and is left as it is.

A holder may end in vain: nothing of its work is to be found. Then all who wait for it go on without the lock at once,
instead of one after the other. It says so by the size of its file, which they have open.
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

from gridjit.base.forking import held, in_child, lock, section
from gridjit.base.interrupts import let_through, tolerated
from gridjit.cache.files import make_below, opened
from gridjit.cache.folder import FILE, LIST, Folder, check_file, close, folder_at, make_folder, open_folder, open_inner
from gridjit.cache.store import check_key

DEFAULT_TIMEOUT_S = 60.0
LOCK_FOLDER, LOCK_SUFFIX = "locks", ".lock"
_LOCK = r"[0-9a-f]{8,128}\.lock"  # compiled when first used
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


class _Held:
    """The lock of one job in this process.

    lock: of who may go on. wanted: by how many. in_vain: how often a holder ended in vain.
    descriptor, waiting: its file while it is held, and while another process holds it; made: whether it was made here.
    """

    __slots__ = ("descriptor", "in_vain", "lock", "made", "waiting", "wanted")

    def __init__(self) -> None:
        self.lock = lock()
        self.wanted = self.in_vain = 0
        self.descriptor: int | None = None
        self.waiting: int | None = None
        self.made = False

    def close(self) -> None:
        """Close the file that is waited for, if one is."""
        if self.waiting is not None:
            descriptor, self.waiting = self.waiting, None
            close(descriptor)


class Locks:
    """The locks of jobs; with a cache folder, shared with every process that uses it.

    A thread that holds a job's lock gets it again at once. The table holds only locks wanted at the moment.
    allow_shared: lock in a folder that other users may write, where they can make this process wait.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, allow_shared: bool = False) -> None:
        self._folder = None if folder is None else folder_at(folder, shared=allow_shared)
        self._table: dict[str, _Held] = {}
        self._forget_parent()
        _all_locks.add(self)

    @contextlib.contextmanager
    def single_flight(self, job: str, timeout: float = DEFAULT_TIMEOUT_S) -> Iterator[bool]:
        """Hold the lock of job's key for the block, waiting at most timeout seconds; yield whether it is held."""
        check_key(job)
        deadline = time.monotonic() + timeout
        entry = self._enter(job)
        outer = held(entry.lock)
        try:
            # A block inside one that had to do without the lock does not wait for it once more.
            yield self._take(job, entry, 0.0 if outer else deadline)
        finally:
            # By the lock's own count: an interrupt may come between having it and knowing.
            taken = held(entry.lock) - outer
            if taken and not outer:
                self._unlock_file(job, entry)
            for _ in range(taken):
                entry.lock.release()
            self._leave(job, entry)

    def end_in_vain(self, job: str) -> None:
        """Release all waiters for the calling thread's lock of job without the lock: they would find nothing."""
        entry = self._table.get(job)
        if entry is not None and held(entry.lock):
            entry.in_vain += 1
            if entry.descriptor is not None:
                with tolerated(OSError):
                    os.ftruncate(entry.descriptor, 1)

    def sweep(self) -> int:
        """Remove the lock files that holders which were killed left behind, and return how many there were."""
        removed = 0
        if self._folder is None:
            return removed
        for name in _names(self._folder):
            with tolerated(OSError):  # gone meanwhile, or no lock
                removed += bool(re.fullmatch(_LOCK, name)) and _sweep(self._folder, name)
        return removed

    def _take(self, job: str, entry: _Held, deadline: float) -> bool:
        """Return whether the calling thread has the lock; if it waited in vain, other threads need not wait for it."""
        before, patience = entry.in_vain, deadline - time.monotonic()
        if not entry.lock.acquire(timeout=max(0.0, min(patience, threading.TIMEOUT_MAX))):
            return False
        had = entry.in_vain == before and self._lock_file(job, entry, deadline)
        if entry.in_vain != before:
            entry.lock.release()
        return had

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
            return _lock_before(self._folder, job + LOCK_SUFFIX, entry, deadline)
        except OSError as error:
            let_through(error)
            return False
        finally:
            entry.close()

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
            # Only these copies go; the lock stays with the parent, and ends with it.
            entry.close()
            entry.waiting, entry.descriptor = entry.descriptor, None
            entry.close()


_all_locks: weakref.WeakSet[Locks] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for locks in list(_all_locks):
        locks._forget_parent()


in_child(_after_fork_in_child)


def _lock_before(folder: Folder, name: str, entry: _Held, deadline: float) -> bool:
    """Return whether entry has the lock of that name: not after the deadline, nor if its holder ended in vain."""
    pause, before = _FIRST_PAUSE_S, entry.in_vain
    while not _try_lock(folder, name, entry):
        rest = deadline - time.monotonic()
        if rest <= 0 or entry.in_vain != before:
            return False
        time.sleep(min(pause, rest))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
    return True


def _try_lock(folder: Folder, name: str, entry: _Held) -> bool:
    """Return whether entry has the lock of that name now; if another has it, its file stays open.

    Raises an OSError if the lock cannot exist.
    """
    with opened(_make_lock_folder(folder)) as directory:
        while (file := _open_lock(folder, directory, name, entry, make=True)) is not None:
            free, there = _lock(file), _is_named(file, name, directory)
            if there and free and entry.made:
                entry.descriptor, entry.waiting = file, None
                return True
            if there and not free:
                return False
            if there:  # left by a killed holder: a holder has made its file, and so may write to that
                os.unlink(name, dir_fd=directory)
            in_vain = os.fstat(file).st_size > 0
            entry.close()
            if in_vain:
                entry.in_vain += 1
                return False
    return False


def _open_lock(folder: Folder, directory: int, name: str, entry: _Held, *, make: bool) -> int | None:
    """Return the lock's file, open for entry to wait for; None if another process made it just now.

    Raises an OSError if it is not a lock.
    """
    if entry.waiting is not None:
        return entry.waiting
    mode, how = os.fstat(directory).st_mode & 0o666, os.O_RDWR | FILE
    with section():  # a child that is forked closes its copy
        try:
            entry.made, entry.waiting = False, os.open(name, how, dir_fd=directory)
        except FileNotFoundError:
            if not make:
                raise
            try:
                entry.waiting = os.open(name, how | os.O_CREAT | os.O_EXCL, mode, dir_fd=directory)
            except FileExistsError:
                return None
            entry.made = True
    found = os.fstat(entry.waiting)
    check_file(folder, found, name)
    if found.st_nlink > 1:
        raise OSError(errno.EMLINK, "A lock with another name elsewhere", name)
    return entry.waiting


def _lock(descriptor: int) -> bool:
    """Return whether the lock of an open file was free, and is taken now."""
    import fcntl  # a process that only finds takes no lock

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep(folder: Folder, name: str) -> bool:
    """Remove the file of a lock that nobody holds; return whether there was one. Raises an OSError if there is none."""
    entry = _Held()
    try:
        with opened(open_inner(folder, LOCK_FOLDER)) as directory:
            file = _open_lock(folder, directory, name, entry, make=False)
            if dead := file is not None and _lock(file) and _is_named(file, name, directory):
                os.unlink(name, dir_fd=directory)
        return dead
    finally:
        entry.close()


def _make_lock_folder(folder: Folder) -> int:
    with opened(open_folder(folder)) as top:
        return make_below(folder, top, LOCK_FOLDER)


def _is_named(descriptor: int, name: str, directory: int) -> bool:
    """Return whether an open file still has the name."""
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
