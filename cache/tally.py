"""Tally: what a folder that others may write to holds, counted from its files, to bound its size without a database.

SQLite would follow links that another user put in place of its files, and do what their journal says. Here only names,
sizes and times are read. Files are counted again whenever so much was added that the limits may be near.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.cache.files import list_files
from gridjit.cache.folder import Folder
from gridjit.cache.store import EntryInfo

# The part of what was counted that may be added before files are counted again: others add meanwhile too.
_UNCOUNTED = 16


class Tally:
    """Stands in for an Index, for one process's writes. Not for use by several threads at once."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._entries = self._bytes = 0  # as counted last
        self._new_entries = self._new_bytes = 0  # since then

    def record(self, info: EntryInfo, *, max_bytes: int, max_entries: int) -> list[str]:
        """Note that info's file is in place, and return the keys whose files must go to keep the bounds."""
        self._new_entries += 1
        self._new_bytes += info.size
        entries, size = self._entries + self._new_entries, self._bytes + self._new_bytes
        few = self._new_entries * _UNCOUNTED <= self._entries and self._new_bytes * _UNCOUNTED <= max_bytes
        if few and entries <= max_entries and size <= max_bytes:
            return []
        infos = (other for other in list_files(self._folder) if other.key != info.key)
        return self._count([*infos], info, max_bytes=max_bytes, max_entries=max_entries)

    def record_all(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Note that the files of infos are in place, as record does one after the other."""
        bounds = {"max_bytes": max_bytes, "max_entries": max_entries}
        return [key for info in infos for key in self.record(info, **bounds)]

    def reconcile(self, infos: Iterable[EntryInfo], *, max_bytes: int, max_entries: int) -> list[str]:
        """Count the files, and return the keys that must go to keep the bounds."""
        return self._count([*infos], None, max_bytes=max_bytes, max_entries=max_entries)

    def forget(self, keys: Iterable[str]) -> list[str]:
        """Return the empty list: what is gone is not counted next time, and no other has to go."""
        return []

    def _count(self, infos: list[EntryInfo], stays: EntryInfo | None, *, max_bytes: int, max_entries: int) -> list[str]:
        """Note what is there, less the oldest that are above the bounds; return their keys."""
        size = sum(info.size for info in infos) + (stays.size if stays else 0)
        entries = len(infos) + (1 if stays else 0)
        removed: list[str] = []
        for info in sorted(infos, key=lambda info: info.stored):
            if entries <= max_entries and size <= max_bytes:
                break
            removed.append(info.key)
            entries, size = entries - 1, size - info.size
        self._entries, self._bytes, self._new_entries, self._new_bytes = entries, size, 0, 0
        return removed
