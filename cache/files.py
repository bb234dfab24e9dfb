"""The files of a cache folder: how entries are named, read, listed, and written either completely or not at all.

<folder>/ab/ab12....cubin holds the entry of key ab12...; <folder>/tmp holds files being written. Only the names are
relied on here, never an index, so that a folder can be read where it cannot be written. gridjit.cache.folder opens the
files, and refuses some.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator

from gridjit.base.interrupts import let_through, tolerated
from gridjit.cache.folder import (
    LIST,
    Distrusted,
    Folder,
    check_file,
    close,
    distrust_owner,
    make_directory,
    open_below,
    open_folder,
    open_inner,
    read_below,
)
from gridjit.cache.store import SUFFIXES, EntryInfo

TEMPORARY_FOLDER = "tmp"
# The file of uses: found and compiled code, with times; when it is full, its older half goes.
USES, MOST_USES_BYTES = "gridjit-uses", 1 << 20
_LAST_MOMENT = (1 << 32) - 1  # that a record can hold
TEMPORARY_LIFE_S = 3600.0
MOST_BYTES = 1 << 30  # of an entry, unless its store is bounded to more
# Compiled when first used: what only reads entries needs none of them.
_SHARD = r"[0-9a-f]{2}"
_FILE = r"([0-9a-f]{8,128})(\.[a-z]+)"
_TEMPORARY = r"[0-9a-f]{8,16}-[0-9a-f]{16}"


def file_name(key: str, suffix: str) -> str:
    """Return the name of an entry's file, relative to the folder."""
    return f"{key[:2]}/{key}{suffix}"


def parse_file_name(name: str) -> tuple[str, str] | None:
    """Return (key, suffix) of a name that file_name makes, or None for any other."""
    match = re.fullmatch(_FILE, name[3:])
    if match is None or match[2] not in SUFFIXES or name != file_name(match[1], match[2]):
        return None
    return match[1], match[2]


def open_shard(folder: Folder, key: str) -> int | None:
    """Return a descriptor of the directory that a key's files are in, or None if there is none; may raise OSError."""
    try:
        top = open_folder(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return open_below(folder, top, key[:2])
    except FileNotFoundError:
        return None
    finally:
        close(top)


def read_file(folder: Folder, key: str, suffix: str, limit: int = MOST_BYTES) -> bytes | None:
    """Return the bytes of an entry's file, or None if there is none; raises OSError if it must not be used."""
    if (shard := open_shard(folder, key)) is None:
        return None
    try:
        return read_below(folder, shard, key + suffix, limit)
    finally:
        close(shard)


def write_file(folder: Folder, key: str, suffix: str, data: bytes, *, stored: float | None = None) -> None:
    """Write an entry's file: a temporary one, renamed when it is complete, so that no reader sees a part of it.

    stored: when the entry was stored, instead of now.
    """
    name, temporary = f"{key}{suffix}", f"{key[:16]}-{os.urandom(8).hex()}"
    with opened(open_folder(folder)) as top:
        mode = os.fstat(top).st_mode
        with (
            opened(make_below(folder, top, key[:2])) as shard,
            opened(make_below(folder, top, TEMPORARY_FOLDER)) as temporaries,
        ):
            try:
                _write_new(temporary, data, mode & 0o666, temporaries)
                if stored is not None:
                    os.utime(temporary, (stored, stored), dir_fd=temporaries)
                os.rename(temporary, name, src_dir_fd=temporaries, dst_dir_fd=shard)
            except BaseException:
                with tolerated(OSError):
                    os.unlink(temporary, dir_fd=temporaries)
                raise
            # A file of this key under another suffix is older, and would hide or outlive the new one.
            for other in SUFFIXES:
                if other != suffix:
                    with tolerated(OSError):
                        os.unlink(key + other, dir_fd=shard)


def append_use(folder: Folder, key: str, *, hit: bool) -> bool:
    """Add a record of a use to the folder's file of them, in one write; return whether it is full. May raise OSError.

    gridjit.cache.uses reads it: 8 bytes of the key, the time in seconds, whether it was found, and 3 zero bytes.
    """
    # The clock may say anything, as where a test sets it.
    moment = min(max(int(time.time()), 0), _LAST_MOMENT)
    record = bytes.fromhex(key[:16]) + moment.to_bytes(4, "little") + bytes((hit, 0, 0, 0))
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with (
        opened(open_folder(folder)) as top,
        opened(os.open(USES, how, os.fstat(top).st_mode & 0o666, dir_fd=top)) as file,
    ):
        found = os.fstat(file)
        check_file(folder, found, USES)
        return os.write(file, record) + found.st_size > MOST_USES_BYTES


def write_beside(top: int, name: str, data: bytes) -> None:
    """Replace a file in the folder, which is open, by a complete one; may raise OSError."""
    temporary = f".{name}-{os.urandom(8).hex()}"
    try:
        _write_new(temporary, data, os.fstat(top).st_mode & 0o666, top)
        os.rename(temporary, name, src_dir_fd=top, dst_dir_fd=top)
    except BaseException:
        with tolerated(OSError):
            os.unlink(temporary, dir_fd=top)
        raise


def remove_files(folder: Folder, key: str) -> None:
    """Remove the files of a key."""
    for suffix in SUFFIXES:
        remove_file(folder, file_name(key, suffix))


def remove_file(folder: Folder, name: str) -> None:
    """Remove an entry's file by its relative name; a name that is not an entry's is left alone."""
    if parse_file_name(name) is not None:
        with tolerated(OSError), opened(open_inner(folder, name[:2])) as shard:
            os.unlink(name[3:], dir_fd=shard)


def find_file(folder: Folder, key: str) -> EntryInfo | None:
    """Return the EntryInfo of key's file in the folder, or None."""
    with tolerated(OSError), opened(open_inner(folder, key[:2])) as shard:
        for suffix in SUFFIXES:
            if (info := _info(shard, key, suffix)) is not None:
                return info
    return None


def list_files(folder: Folder, tell: Callable[[OSError], None] = lambda error: None) -> Iterator[EntryInfo]:
    """Yield every entry that has a file; a file that disappears meanwhile is passed over.

    tell: is called with the error of a directory whose files are passed over.
    """
    for shard in _names(folder, None, tell):
        if re.fullmatch(_SHARD, shard):
            yield from _list_shard(folder, shard, tell)


def sweep_temporaries(folder: Folder, *, older_than_s: float = TEMPORARY_LIFE_S) -> int:
    """Remove dead writers' temporary files, and return their number.

    Only names that write_file gives: the folder may be one, like a home, whose tmp is not of gridjit's making.
    """
    removed = 0
    before = time.time() - older_than_s
    names = [name for name in _names(folder, TEMPORARY_FOLDER) if re.fullmatch(_TEMPORARY, name)]
    if not names:
        return 0
    with tolerated(OSError), opened(open_inner(folder, TEMPORARY_FOLDER)) as temporaries:
        for name in names:
            with tolerated(OSError):
                if os.stat(name, dir_fd=temporaries, follow_symlinks=False).st_mtime <= before:
                    os.unlink(name, dir_fd=temporaries)
                    removed += 1
    return removed


@contextlib.contextmanager
def opened(descriptor: int) -> Iterator[int]:
    """Give out a descriptor for the block, and close it."""
    try:
        yield descriptor
    finally:
        close(descriptor)


def make_below(folder: Folder, top: int, name: str) -> int:
    """Return a descriptor of a directory in the open folder, made with the folder's permissions if it is missing.

    A directory that must not be used is replaced by a new one, if it holds only gridjit's files.
    """
    mode = os.fstat(top).st_mode & 0o777
    with contextlib.suppress(FileExistsError):
        make_directory(name, mode, above=top)
    try:
        return open_below(folder, top, name)
    except (Distrusted, NotADirectoryError) as refusal:
        try:
            _clear_away(top, name)
            make_directory(name, mode, above=top)
        except OSError as error:
            let_through(error)
            raise refusal from None
        return open_below(folder, top, name)


def _clear_away(top: int, name: str) -> None:
    """Remove a directory with gridjit's files in it, or another user's file in its place; else raise an OSError."""
    found = os.stat(name, dir_fd=top, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        if distrust_owner(found) is None:  # this user's, who may have something in mind
            raise NotADirectoryError
        os.unlink(name, dir_fd=top)
        return
    with opened(os.open(name, LIST | os.O_NOFOLLOW, dir_fd=top)) as directory:
        for inner in os.listdir(directory):
            if re.fullmatch(_TEMPORARY, inner) or re.fullmatch(_FILE, inner):
                os.unlink(inner, dir_fd=directory)
    os.rmdir(name, dir_fd=top)


def _list_shard(folder: Folder, shard: str, tell: Callable[[OSError], None]) -> Iterator[EntryInfo]:
    parsed = [pair for name in _names(folder, shard, tell) if (pair := parse_file_name(f"{shard}/{name}")) is not None]
    if not parsed:
        return
    infos: list[EntryInfo] = []
    with tolerated(OSError), opened(open_inner(folder, shard)) as directory:
        infos = [info for key, suffix in parsed if (info := _info(directory, key, suffix)) is not None]
    yield from infos


def _info(shard: int, key: str, suffix: str) -> EntryInfo | None:
    try:
        found = os.stat(key + suffix, dir_fd=shard, follow_symlinks=False)
    except OSError as error:
        let_through(error)
        return None
    return EntryInfo(key=key, suffix=suffix, size=found.st_size, stored=found.st_mtime)


def _names(folder: Folder, name: str | None, tell: Callable[[OSError], None] = lambda error: None) -> list[str]:
    """Return the names in the folder, or in a directory of it; none if it is missing or must not be used."""
    try:
        with opened(open_folder(folder)) as top:
            where = "." if name is None else name
            with opened(open_below(folder, top, where, LIST)) as directory:
                return os.listdir(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        let_through(error)
        tell(error)
        return []


def _write_new(name: str, data: bytes, mode: int, directory: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=directory)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)  # a network's file system may say only now that it could not write
