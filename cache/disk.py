"""DiskStore: entries as files in one folder, bounded in size, read without any index.

An entry is a file named by its key and sealed with it, so reading is opening that file and checking the seal: it needs
no lock, no database and no right to write. Bounds drop the oldest entries when there are too many; they are imported on
the first write, with the index beside the files that knows in which order they were stored.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from gridjit.base.forking import lock, section
from gridjit.base.interrupts import let_through, tolerated
from gridjit.base.values import dataclass
from gridjit.cache import files
from gridjit.cache.entry import open_entry, seal, why_refused
from gridjit.cache.errors import warn
from gridjit.cache.folder import (
    Distrusted,
    Folder,
    close,
    folder_at,
    is_open_to_others,
    make_folder,
    open_folder,
    read_below,
)
from gridjit.cache.store import SUFFIXES, EntryInfo, Result, check_key, check_suffix

if TYPE_CHECKING:
    from gridjit.cache.bounds import Bounds
    from gridjit.cache.store import Store
    from gridjit.cache.uses import Use

_OWN_FOLDER = "Set GRIDJIT_CACHE_DIR to a folder of your own, or GRIDJIT_CACHE=0 to run without a cache."
# How many entries are forgotten with one change of the index.
_AT_ONCE = 256
# How many entries show whether any opens.
_A_FEW = 16
_NO_SUCH_BASE = "Set GRIDJIT_CACHE_BASE without it to run without its entries."
_TRUST = "Set GRIDJIT_CACHE_ALLOW_SHARED=1 to use it anyway, and run what others put there."
_READABLE = "Let its owner make all of it readable (chmod -R a+rX), or name another folder."
_START_ANEW = "Delete it, or the whole folder: what others put there would be run."
_MORE_SPACE = "Make room there, or set GRIDJIT_CACHE_DIR to a folder on another disk."
_MORE_ROOM = "Set GRIDJIT_CACHE_SIZE to more."
# What a row of the index takes at most.
_ROW_BYTES = 1 << 10
_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of reading every entry: the number of good entries, the bad ones, and why each of these is bad."""

    good: int
    bad: tuple[EntryInfo, ...]
    reasons: tuple[str, ...] = ()


class _Unnoted(threading.local):
    """The entries that this thread has put, if the index is told of them later; else None."""

    infos: list[EntryInfo] | None = None


class DiskStore:
    """A Store in one folder, for any number of threads and processes.

    folder: made on the first write, for this user alone. A folder or file in it that belongs to another user, or that
        others may write, is not used unless allow_shared is set: code that is read from it is run.
    max_bytes, max_entries: bounds on all entries; the entries stored least recently go first.
    timeout: seconds to wait for other writers before an entry is dropped.
    read_only: never write, and say nothing about it.
    secret: sign entries with it, and read only entries signed by it.

    A fault of the folder is reported in one CacheWarning per store; gets miss and puts do nothing until it is right
    again. A folder once refused stays so for the life of the store.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = 1 << 30,
        max_entries: int = 100_000,
        timeout: float = 5.0,
        allow_shared: bool = False,
        read_only: bool = False,
        secret: bytes | None = None,
    ) -> None:
        self._place = folder_at(folder, shared=allow_shared)
        self.folder = self._place.path
        self.read_only = read_only
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._timeout = timeout
        self._secret = secret
        self._most_bytes = max(max_bytes, files.MOST_BYTES)  # bounds may have been wider when an entry was put
        self._refused = False
        self.fault = ""  # that was warned of
        self._bounds: Bounds | None = None
        self._making_bounds = lock()
        self._unnoted = _Unnoted()

    @property
    def layers(self) -> tuple[DiskStore, ...]:
        """This store alone."""
        return (self,)

    def get(self, key: str) -> bytes | None:
        """Return the bytes put under key, or None."""
        check_key(key)
        if self._refused:
            return None
        try:
            shard = files.open_shard(self._place, key)
        except OSError as error:
            self._tell(error)
            return None
        return None if shard is None else self._read(shard, key)

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Keep data under key, in a file with that suffix; the oldest entries make room for it."""
        self.put_all({key: data}, suffix=suffix)

    def put_all(self, entries: Mapping[str, bytes], *, suffix: str) -> None:
        """Keep entries as put does. All are noted in the index at once: to note one takes longer than to write it."""
        check_suffix(suffix)
        for key in entries:
            check_key(key)
        if self.read_only:
            return
        sealed = {key: seal(key, data, secret=self._secret) for key, data in entries.items()}
        sealed = {key: data for key, data in sealed.items() if self._has_room_for(data)}
        try:
            if sealed and self._writable():
                self._write(suffix, sealed)
        except (OSError, ImportError) as error:  # a Python without SQLite has no index
            self._tell(error, "written")

    def together(self, work: Callable[[], Result]) -> Result:
        """Return work(), and note the entries that this thread put meanwhile in the index many at once, or at the end.

        Where the process dies meanwhile, files are there without a row, as after any put that it dies in.
        """
        if self._unnoted.infos is not None:
            return work()
        written: list[EntryInfo] = []
        try:
            self._unnoted.infos = written
            return work()
        finally:
            try:
                if written:
                    self._note(written)
            finally:
                self._unnoted.infos = None

    def note_use(self, key: str, *, hit: bool) -> None:
        """Count in the folder that an artifact was found, or compiled; a count may be lost.

        Nothing is counted in a folder that others may write: its file of this name may be a link to another file.
        """
        if self.read_only or self._refused or len(key) < 16:
            return
        with tolerated(OSError):
            if not is_open_to_others(self._place) and files.append_use(self._place, key, hit=hit):
                from gridjit.cache.uses import halve_uses

                halve_uses(self._place)

    @property
    def place(self) -> Folder:
        """The folder, for other files in it."""
        return self._place

    def uses(self) -> list[Use]:
        """Return the uses that the folder counted."""
        from gridjit.cache.uses import read_uses

        return list(read_uses(self._place))

    def forget_uses(self) -> None:
        """Forget the folder's counts."""
        from gridjit.cache.uses import forget_uses

        if self._changeable():
            forget_uses(self._place)

    def find(self, key: str) -> EntryInfo | None:
        """Return the EntryInfo of key without reading the entry, or None."""
        check_key(key)
        return files.find_file(self._place, key) if self._readable() else None

    def entries(self) -> Iterator[EntryInfo]:
        """Yield every entry that has a file."""
        if self._readable():
            yield from files.list_files(self._place, self._tell)

    def remove(self, key: str) -> None:
        """Forget key, if it is there."""
        check_key(key)
        self._forget([key])

    def clear(self) -> int:
        """Remove every entry, and return how many there were."""
        keys = [info.key for info in self.entries()]
        self._forget(keys)
        return len(keys)

    def remove_all(self, infos: Sequence[EntryInfo], each: Callable[[str], object] = str) -> None:
        """Forget entries, some at a time; each: called with the key of each before it is forgotten."""
        for first in range(0, len(infos), _AT_ONCE):
            keys = [info.key for info in infos[first : first + _AT_ONCE]]
            for key in keys:
                each(key)
            self._forget(keys)

    def verify(self, *, remove: bool = True, each: Callable[[str], object] = str) -> Verification:
        """Read every entry; remove the bad ones if asked to, and add missing entries to the index.

        each: called with the key of each entry before it is read.
        """
        good, bad, reasons = 0, [], []
        for info in self.entries():
            each(info.key)
            match self._why_bad(info):
                case "":
                    good += 1
                case str(reason):
                    bad.append(info)
                    reasons.append(reason)
        if remove and not self.read_only:
            for info in bad:
                files.remove_file(self._place, files.file_name(info.key, info.suffix))
            self.collect()
        return Verification(good=good, bad=tuple(bad), reasons=tuple(reasons))

    def why_none_opens(self) -> str:
        """Return why the first entries do not open, as with another key; "" if there are none or any of them opens."""
        reasons = [self._why_bad(info) for info in islice(self.entries(), _A_FEW)]
        return next((reason for reason in reasons if reason), "") if all(reasons) else ""

    def collect(self) -> None:
        """Remove dead writers' files, note files without a row, drop rows without a file, and keep the bounds."""
        if not self._changeable():
            return
        self.sweep()
        try:
            self._known_bounds().reconcile()
        except (OSError, ImportError) as error:  # a Python without SQLite has no index
            self._tell(error, "written")

    def sweep(self) -> int:
        """Remove dead writers' temporary files, and return their number."""
        return files.sweep_temporaries(self._place) if self._changeable() else 0

    def close(self) -> None:
        """Let go of the index; the next write opens it again."""
        if self._bounds is not None:
            self._bounds.close()

    def _why_bad(self, info: EntryInfo) -> str | None:
        """Return why an entry does not open, "" if it does, or None if it went meanwhile."""
        try:
            data = files.read_file(self._place, info.key, info.suffix, self._most_bytes)
        except (OSError, MemoryError) as error:
            let_through(error)
            return f"cannot be read ({error})"
        if data is None:
            return None
        if open_entry(info.key, data, secret=self._secret) is not None:
            return ""
        return why_refused(info.key, data, secret=self._secret)

    def _read(self, shard: int, key: str) -> bytes | None:
        """Return the entry's payload from an open directory, and close that; a useless file does not hide another."""
        try:
            for suffix in SUFFIXES:
                try:
                    data = read_below(self._place, shard, key + suffix, self._most_bytes)
                except (OSError, MemoryError) as error:
                    self._tell(error)
                    continue
                payload = None if data is None else open_entry(key, data, secret=self._secret)
                if payload is not None:
                    return payload
            return None
        finally:
            close(shard)

    def _has_room_for(self, sealed: bytes) -> bool:
        if len(sealed) <= self._max_bytes:
            return True
        self._warn(f"is limited to {self._max_bytes} bytes and cannot hold an entry of {len(sealed)}", _MORE_ROOM)
        return False

    def _write(self, suffix: str, sealed: Mapping[str, bytes]) -> None:
        """Write entries."""
        self._with_room(sum(map(len, sealed.values())), lambda: self._write_and_record(suffix, sealed))

    def _with_room(self, size: int, work: Callable[[], None]) -> None:
        """Do work that adds size bytes; on a disk that is full, once more when the oldest entries have made room."""
        try:
            work()
        except OSError as error:
            if error.errno not in _DISK_IS_FULL or not self._free(size):
                raise
            work()

    def _write_and_record(self, suffix: str, sealed: Mapping[str, bytes]) -> None:
        written: list[EntryInfo] = []
        try:
            for key, data in sealed.items():
                files.write_file(self._place, key, suffix, data)
                written.append(EntryInfo(key=key, suffix=suffix, size=len(data), stored=0.0))
            if (waiting := self._unnoted.infos) is None:
                self._known_bounds().record(written)
                return
            waiting += written
            if len(waiting) >= _AT_ONCE:  # other writers wait for the index, and not for long
                due = [*waiting]
                waiting.clear()
                self._note(due)
        except (OSError, ImportError) as error:
            # A file that the index does not know would never make room for another.
            let_through(error)
            self._remove_files([info.key for info in written])
            raise

    def _note(self, written: list[EntryInfo]) -> None:
        """Note files that are in place in the index; without an index, they go."""
        try:
            self._with_room(len(written) * _ROW_BYTES, lambda: self._known_bounds().record(written))
        except (OSError, ImportError) as error:
            self._remove_files([info.key for info in written])
            self._tell(error, "written")

    def _free(self, size: int) -> bool:
        """Remove the oldest entries to free size bytes with room to spare; return whether there were enough."""
        infos = sorted(files.list_files(self._place), key=lambda info: info.stored)
        total = sum(info.size for info in infos)
        if total < 2 * size:
            return False
        rest = max(2 * size, total // 16)
        removed: set[str] = set()
        for info in infos:
            if rest <= 0:
                break
            files.remove_files(self._place, info.key)
            removed.add(info.key)
            rest -= info.size
        if (unnoted := self._unnoted.infos) is not None:
            unnoted[:] = [info for info in unnoted if info.key not in removed]
        self._known_bounds().reconcile()
        return True

    def _forget(self, keys: list[str]) -> None:
        if not self._changeable():
            return
        self._remove_files(keys)
        try:
            self._known_bounds().forget(keys)
        except (OSError, ImportError) as error:  # a Python without SQLite has no index
            self._tell(error, "written")

    def _remove_files(self, keys: list[str]) -> None:
        for key in keys:
            files.remove_files(self._place, key)

    def _known_bounds(self) -> Bounds:
        """Return the bounds that keep the folder within its limits, the same for all threads."""
        from gridjit.cache.bounds import Bounds

        with section(), self._making_bounds:
            if self._bounds is None:
                limits = {"max_bytes": self._max_bytes, "max_entries": self._max_entries}
                self._bounds = Bounds(self._place, **limits, timeout=self._timeout)
            return self._bounds

    def _readable(self) -> bool:
        """Return whether the folder is there and may be used; if it may not be, that is said."""
        if self._refused:
            return False
        try:
            close(open_folder(self._place))
        except (FileNotFoundError, NotADirectoryError):  # it may appear later
            return False
        except OSError as error:
            self._tell(error)
            return False
        return True

    def _writable(self) -> bool:
        if not os.path.isdir(self.folder):
            make_folder(self.folder)
            self._refused = False
        return self._readable()

    def _changeable(self) -> bool:
        return not self.read_only and self._readable()

    def _tell(self, error: BaseException, done: str = "read") -> None:
        """Warn of the error; a folder that must not be used is not looked at again."""
        let_through(error)
        if not isinstance(error, Distrusted):
            self._warn(f"cannot be {done}: {error}", self._way_on(error, done))
        elif error.name:
            self._warn(f"is used only in part: {error} and is passed over", _START_ANEW)
        else:
            self._refused = True
            self._warn(f"is not used: it {error.reason}", f"{_TRUST} {self._way_without()}")

    def _warn(self, what: str, way_on: str = "") -> None:
        if not self.fault:
            self.fault = f"cache folder {self.folder} {what}. {way_on or self._way_without()}"
            warn(self.fault)

    def _way_on(self, error: BaseException, done: str) -> str:
        """Return the way on after an error of the system; "" if there is only the way without the folder."""
        if getattr(error, "errno", None) in _DISK_IS_FULL:
            return _MORE_SPACE
        return _READABLE if isinstance(error, PermissionError) and done == "read" else ""

    def _way_without(self) -> str:
        return _NO_SUCH_BASE if self.read_only else _OWN_FOLDER


def note_use(store: Store, key: str, *, hit: bool) -> None:
    """Count a found or compiled artifact in the folder that a store writes to, if it has one."""
    top = store.layers[0]
    if isinstance(top, DiskStore):
        top.note_use(key, hit=hit)
