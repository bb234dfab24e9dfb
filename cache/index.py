"""Index: which entries a folder holds and when each was stored, in diskcache's database, to bound the folder's size.

The wall around diskcache: no other file imports it. Reading an entry does not use the index, and lost rows are read
back from the files' names. Rows hold strings and numbers only: nothing is pickled, and a row that is marked as pickled
is refused. Any use of the database waits at most `timeout` seconds for others. SQLite follows links and obeys a
journal, so a database that others may have changed is never opened: shared folders have a tally instead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import diskcache
from diskcache.core import DBNAME, MODE_BINARY

from gridjit.base.interrupts import let_through
from gridjit.cache.files import file_name, find_file, parse_file_name, read_file
from gridjit.cache.folder import distrust, folder_at
from gridjit.cache.store import EntryInfo

_COMPANIONS = ("", "-journal", "-wal", "-shm")
_SETTINGS = {
    "eviction_policy": "least-recently-stored",
    "cull_limit": 0,  # room is made by Index.record_all, which also counts entries
    "statistics": 0,
    "tag_index": 0,
    "disk_min_file_size": 0,
    # A rollback journal and no mapping: a file cut short under a mapping kills the process that reads it.
    "sqlite_journal_mode": "truncate",
    "sqlite_mmap_size": 0,
    "sqlite_auto_vacuum": 0,
    # Not synced: after a power loss a damaged database is rebuilt from the files.
    "sqlite_synchronous": 0,
}
_PAUSE_S = 0.001
_OF_THE_MOMENT = ("locked", "full", "disk I/O error", "unable to open", "out of memory", "interrupted")
# How many of the oldest rows are looked at in one step of making room.
_STEP = 32


class IndexFailed(OSError):
    """The database could not be used now."""


class IndexBroken(IndexFailed):
    """The database is damaged, or is not a database; remove it and start again."""


class RefusedRow(OSError):
    """A row does not name an entry's file. An OSError, which diskcache takes for a missing file: a miss."""


class StoredFile(NamedTuple):
    """The value put into diskcache: the suffix and size of a file that is already in place."""

    suffix: str
    size: int


class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """How diskcache writes keys and values here: keys as text, values as the names of entry files, nothing pickled."""

    def put(self, key: object) -> tuple[str, bool]:
        """Return the database's form of key."""
        if not isinstance(key, str):
            raise RefusedRow(f"key {key!r} is not text")
        return key, True

    def get(self, key: object, raw: object) -> str:
        """Return the key of a row."""
        if not raw or not isinstance(key, str):
            raise RefusedRow("a row has a pickled key")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, str, None]:
        """Return the columns for a file that is already in place."""
        if not isinstance(value, StoredFile) or not isinstance(key, str):
            raise RefusedRow(f"value {value!r} is not a stored file")
        return value.size, MODE_BINARY, file_name(key, value.suffix), None

    def fetch(self, mode: int, filename: object, value: object, read: bool) -> bytes:
        """Return the bytes of the file that a row names, its trailer included."""
        parsed = parse_file_name(filename) if isinstance(filename, str) else None
        if mode != MODE_BINARY or parsed is None or read:
            raise RefusedRow("a row does not name an entry's file")
        data = read_file(folder_at(self._directory), *parsed)
        if data is None:
            raise RefusedRow(f"{filename} is gone")
        return data

    def filename(self, key: object = None, value: object = None) -> tuple[str, str]:
        """Return the relative and the full name of an entry's file."""
        if not isinstance(value, StoredFile) or not isinstance(key, str):
            raise RefusedRow(f"value {value!r} is not a stored file")
        name = file_name(key, value.suffix)
        return name, os.path.join(self._directory, name)

    def remove(self, file_path: object) -> None:
        """Do nothing: a row's old file may be the new one's name, so the store removes files, not diskcache."""


class _Database(diskcache.Cache):  # type: ignore[misc]  # diskcache has no types
    """diskcache's Cache, waiting for every statement until a deadline: by itself it waits 60 seconds or not at all."""

    def __init__(self, directory: str, timeout: float) -> None:
        self.deadline = time.monotonic() + timeout
        try:
            super().__init__(directory, timeout=timeout, disk=BytesDisk, **_SETTINGS)
        finally:
            self.close()

    @property
    def _sql(self) -> Callable[..., Any]:
        execute = self._con.execute

        def bounded(*args: Any) -> Any:
            while True:
                try:
                    return execute(*args)
                except sqlite3.OperationalError as error:
                    if str(error) != "database is locked":
                        raise
                    if time.monotonic() > self.deadline:
                        # Not the text that diskcache retries on.
                        raise sqlite3.OperationalError("it stayed locked by another process") from error
                time.sleep(_PAUSE_S)

        return bounded

    @property
    def connection(self) -> object:
        """This thread's connection."""
        return self._con

    def oldest(self, count: int) -> list[tuple[int, object, int]]:
        """Return (rowid, filename, size) of the oldest rows; the order comes from an index, not from a scan."""
        statement = "SELECT rowid, filename, size FROM Cache ORDER BY store_time LIMIT ?"
        rows: list[tuple[int, object, int]] = self._sql(statement, (count,)).fetchall()
        return rows

    def names(self) -> dict[int, object]:
        """Return the file name of every row, by rowid."""
        return dict(self._sql("SELECT rowid, filename FROM Cache").fetchall())

    def count_anew(self) -> None:
        """Set the totals, which triggers keep, to the rows' sums: a database that lost its rows keeps old totals."""
        for total, expression in (("count", "COUNT(*)"), ("size", "COALESCE(SUM(size), 0)")):
            self._sql(f"UPDATE Settings SET value = (SELECT {expression} FROM Cache) WHERE key = ?", (total,))

    def drop_row(self, rowid: int) -> None:
        """Delete one row."""
        self._sql("DELETE FROM Cache WHERE rowid = ?", (rowid,))


class Index:
    """The database of one folder. Not for use by several threads at once; connected only while it is used."""

    def __init__(self, folder: str, *, timeout: float) -> None:
        self._folder = folder
        self._timeout = timeout
        self._connection: object = None
        if os.path.expandvars(os.path.expanduser(folder)) != folder:
            raise IndexFailed(
                errno.EINVAL, "its name has a variable or ~ in it that diskcache would replace; write it out"
            )
        with _failures_named(folder):
            self._database = _Database(folder, timeout)

    def record_all(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Note that the files of infos are in place, and return the keys whose files must go to keep the bounds."""
        removed: dict[str, None] = {}
        with self._transaction() as database:
            for info in infos:
                database.set(info.key, StoredFile(info.suffix, info.size))
                # What went was its older row, if any: its file is this one.
                removed.pop(info.key, None)
                removed.update(dict.fromkeys(_make_room(database, max_bytes, max_entries)))
                if info.key in removed:
                    raise IndexBroken("its totals leave no room for a single entry")
        return [*removed]

    def reconcile(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Give each file a row, the oldest first, and drop other rows; return the keys to evict for the bounds."""
        with self._transaction() as database:
            present = {info.key: info for info in infos}
            noted = database.names()
            for rowid, name in noted.items():
                parsed = parse_file_name(name) if isinstance(name, str) else None
                if parsed is None or find_file(folder_at(self._folder), parsed[0]) is None:
                    database.drop_row(rowid)
                else:
                    present.pop(parsed[0], None)
            for info in sorted(present.values(), key=lambda info: info.stored):
                database.set(info.key, StoredFile(info.suffix, info.size))
            database.count_anew()
            return _make_room(database, max_bytes, max_entries)

    def forget(self, keys: Iterable[str]) -> list[str]:
        """Drop the rows of keys; returns the empty list, for no other has to go."""
        with self._transaction() as database:
            for key in keys:
                database.delete(key)
        return []

    def is_empty(self) -> bool:
        """Return whether no entry is noted; the totals are not asked."""
        with self._transaction() as database:
            return not database.oldest(1)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[_Database]:
        # A connection that lives no longer than this cannot be inherited by a fork, write to a file that was
        # deleted meanwhile, or keep a lock after a failed commit.
        self._database.deadline = time.monotonic() + self._timeout
        with _failures_named(self._folder):
            try:
                # Held here too: a forked child drops its parent's threads' connections, and would close it.
                self._connection = self._database.connection
                with self._database.transact():
                    yield self._database
            finally:
                self._connection = None
                self._database.close()


def database_identity(folder: str) -> tuple[int, int] | None:
    """Return the database file's device and inode, which tell it from a replacement, or None if there is no file."""
    try:
        found = os.lstat(os.path.join(folder, DBNAME))
    except OSError as error:
        let_through(error)
        return None
    return found.st_dev, found.st_ino


def check_database(folder: str) -> None:
    """Raise IndexBroken unless every file of the database that is there is this user's (or root's), and nothing else's.

    No other user may write the folder itself, so the checked files are the files that are opened.
    """
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            if (reason := _reason_against(os.lstat(os.path.join(folder, DBNAME + companion)))) is not None:
                raise IndexBroken(f"its database {DBNAME + companion} {reason}")


def _reason_against(found: os.stat_result) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    return "has another name elsewhere" if found.st_nlink > 1 else distrust(found)


def remove_database(folder: str) -> None:
    """Remove the database of folder; it is rebuilt from the files when it is next used."""
    for companion in _COMPANIONS:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, DBNAME + companion))


def _make_room(database: _Database, max_bytes: int, max_entries: int) -> list[str]:
    entries, size = len(database), int(database.reset("size"))
    removed: list[str] = []
    while entries > max_entries or size > max_bytes:
        rows = database.oldest(_STEP)
        for rowid, name, row_size in rows:
            if entries <= max_entries and size <= max_bytes:
                break
            database.drop_row(rowid)
            entries, size = entries - 1, size - row_size
            if isinstance(name, str) and (parsed := parse_file_name(name)) is not None:
                removed.append(parsed[0])
        if not rows:
            # The totals are kept by triggers; totals without rows are a damaged database.
            raise IndexBroken(f"{entries} entries of {size} bytes are counted, but none exists")
    return removed


@contextlib.contextmanager
def _failures_named(folder: str) -> Iterator[None]:
    """Turn errors of SQLite and diskcache into IndexBroken where a new database helps, else into IndexFailed."""
    try:
        yield
    except IndexFailed:
        raise
    except diskcache.Timeout as error:
        raise IndexFailed(f"its database {DBNAME} stayed locked by another process") from error
    except sqlite3.OperationalError as error:
        # To undo what failed may fail as well, which says nothing of the reason.
        while isinstance(before := error.__context__, sqlite3.OperationalError):
            error = before
        text = f"its database {DBNAME} says: {error}"
        if not _is_of_the_moment(str(error), folder):
            raise IndexBroken(text) from error
        raise IndexFailed(errno.ENOSPC if "full" in text else errno.EIO, text) from error
    except OSError as error:
        let_through(error)
        raise IndexFailed(error.errno, str(error)) from error
    except Exception as error:  # diskcache trips over settings and rows that are not its own in many ways
        let_through(error)
        raise IndexBroken(f"its database {DBNAME} is damaged: {error!r}") from error


def _is_of_the_moment(text: str, folder: str) -> bool:
    """Return whether SQLite's error is due to the disk, the rights or other processes; else the file is damaged."""
    if "readonly" in text:
        # Or a damaged byte says that only newer versions may write it.
        return not os.access(os.path.join(folder, DBNAME), os.W_OK)
    return any(moment in text for moment in _OF_THE_MOMENT)
