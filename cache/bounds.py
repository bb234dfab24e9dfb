"""Bounds: keeps a folder's entries within limits, by an index, or by a Tally of its files where others may write too.

In a folder that others may write to, SQLite would follow links that another user put in place of its files, and would
obey their journal. There only names, sizes and times of files are read. They are counted again whenever so much has
been added that the limits may be near.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gridjit.base.forking import Lock, lock, section
from gridjit.cache import files
from gridjit.cache.folder import Folder, is_open_to_others
from gridjit.cache.store import EntryInfo

if TYPE_CHECKING:
    from gridjit.cache.index import Index

# How long to wait for the index after a wait was in vain, until it answers again.
_SHORT_WAIT_S = 0.05
# Indexes of a parent process, kept for good: to free one that was in use at the fork would undo its parent's work.
_inherited: list[Index | None] = []
# What may be added before files are counted again, as a part of what was counted: others add meanwhile too.
_UNCOUNTED = 16


class Bounds:
    """Keeps a folder within max_bytes and max_entries, for any number of threads; the oldest entries go first.

    timeout: seconds to wait for other writers. The index is opened when it is first needed. Where there cannot be one,
    because Python has no SQLite, or the disk fails, each method raises ImportError or OSError.
    """

    def __init__(self, folder: Folder, *, max_bytes: int, max_entries: int, timeout: float) -> None:
        self._folder = folder
        self._limits = {"max_bytes": max_bytes, "max_entries": max_entries}
        self._timeout = self._patience = timeout
        self._index: Index | None = None
        self._tally: Tally | None = None
        self._lock = lock()  # around both
        self._pid = os.getpid()

    def record(self, infos: list[EntryInfo]) -> None:
        """Note the files of infos, and evict the entries that must make room for them."""
        self._use(lambda index: index.record_all(infos, **self._limits))

    def reconcile(self) -> None:
        """Note files that are not known, forget files that are gone, and evict the entries above the limits."""
        self._use(lambda index: index.reconcile(files.list_files(self._folder), **self._limits))

    def forget(self, keys: list[str]) -> None:
        """Note that there are no files of these keys."""
        self._use(lambda index: index.forget(keys))

    def close(self) -> None:
        """Let go of the index; the next action opens it again."""
        with section(), self._guard():
            self._index = self._tally = None

    def _use(self, action: Callable[[Index | Tally], list[str]]) -> None:
        """Run action on the index or tally, and remove the files of the keys that it returns."""
        with section(), self._guard():
            evicted = self._use_tally(action) if is_open_to_others(self._folder) else self._use_index(action)
        self._remove(evicted)

    def _use_tally(self, action: Callable[[Index | Tally], list[str]]) -> list[str]:
        if self._tally is None:
            self._tally = Tally(self._folder)
        return action(self._tally)

    def _use_index(self, action: Callable[[Index | Tally], list[str]]) -> list[str]:
        """Return the keys that action on the index evicts; a damaged index is rebuilt, once."""
        from gridjit.cache.index import IndexBroken, check_database, database_identity, remove_database

        folder, anew = self._folder.path, False
        while True:
            identity = database_identity(folder)
            try:
                check_database(folder)
                evicted = action(self._open_index())
            except IndexBroken:
                self._index = None
                if anew:
                    raise
                anew = True
                # Another process may have replaced the index meanwhile; the new one is good.
                if database_identity(folder) == identity:
                    remove_database(folder)
            except OSError:
                self._index, self._patience = None, min(self._timeout, _SHORT_WAIT_S)
                raise
            else:
                self._patience = self._timeout
                return evicted

    def _open_index(self) -> Index:
        from gridjit.cache.index import Index

        if self._index is None:
            index = Index(self._folder.path, timeout=self._patience)
            if index.is_empty():
                # New, or made anew beside files that are still good; writers that died left temporaries.
                files.sweep_temporaries(self._folder)
                self._remove(index.reconcile(files.list_files(self._folder), **self._limits))
            self._index = index
        return self._index

    def _remove(self, keys: Iterable[str]) -> None:
        for key in keys:
            files.remove_files(self._folder, key)

    def _guard(self) -> Lock:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            _inherited.append(self._index)
            self._index = None
        return self._lock


class Tally:
    """Stands in for an Index, for one process's writes. Not for use by several threads at once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._entries = self._bytes = 0  # as counted last
        self._new_entries = self._new_bytes = 0  # since then

    def record_all(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Note that the files of infos are in place, and return the keys whose files must go to keep the bounds.

        The last of them stays, and older files go first.
        """
        noted = {info.key: info for info in infos}
        self._new_entries += len(noted)
        self._new_bytes += sum(info.size for info in noted.values())
        entries, size = self._entries + self._new_entries, self._bytes + self._new_bytes
        few = self._new_entries * _UNCOUNTED <= self._entries and self._new_bytes * _UNCOUNTED <= max_bytes
        if few and entries <= max_entries and size <= max_bytes:
            return []
        others = [other for other in files.list_files(self._folder) if other.key not in noted]
        return self._count(others, [*noted.values()], max_bytes=max_bytes, max_entries=max_entries)

    def reconcile(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Count the files, and return the keys that must go to keep the bounds."""
        return self._count([*infos], [], max_bytes=max_bytes, max_entries=max_entries)

    def forget(self, keys: Iterable[str]) -> list[str]:
        """Return the empty list: entries that are gone are not counted next time, and no other entry has to go."""
        return []

    def _count(self, infos: list[EntryInfo], newest: list[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Count the entries that fit the bounds; return the keys of the oldest entries, which do not.

        newest: the entries put after all infos, in that order; the last of them stays.
        """
        size, entries = sum(info.size for info in (*infos, *newest)), len(infos) + len(newest)
        removed: list[str] = []
        for info in (*sorted(infos, key=lambda info: info.stored), *newest[:-1]):
            if entries <= max_entries and size <= max_bytes:
                break
            removed.append(info.key)
            entries, size = entries - 1, size - info.size
        self._entries, self._bytes, self._new_entries, self._new_bytes = entries, size, 0, 0
        return removed
