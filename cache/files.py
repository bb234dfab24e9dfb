"""The files of a cache folder: how entries are named, read, written whole or not at all, and listed.

<folder>/ab/ab12....cubin holds the entry of key ab12...; <folder>/tmp holds what is being written. Only the names are
relied on here, never an index, so that a folder can be read where it cannot be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from io import FileIO

from gridjit.cache.store import SUFFIXES, EntryInfo

FOLDER_MODE = 0o700  # of a folder made here; what is made inside one has no more permissions than it
TEMPORARY_FOLDER = "tmp"
TEMPORARY_LIFE_S = 3600.0
_SHARD = re.compile(r"[0-9a-f]{2}")
_FILE = re.compile(r"([0-9a-f]{8,128})(\.[a-z]+)")
_TEMPORARY = re.compile(r"[0-9a-f]{8,16}-[0-9a-f]{16}")


def file_name(key: str, suffix: str) -> str:
    """Return the name of an entry's file, relative to the folder."""
    return f"{key[:2]}/{key}{suffix}"


def parse_file_name(name: str) -> tuple[str, str] | None:
    """Return (key, suffix) of a name that file_name makes, or None for any other."""
    match = _FILE.fullmatch(name[3:])
    if match is None or match[2] not in SUFFIXES or name != file_name(match[1], match[2]):
        return None
    return match[1], match[2]


def read_file(folder: str, key: str, suffix: str) -> bytes | None:
    """Return the bytes of an entry's file, or None if there is none."""
    try:
        with FileIO(f"{folder}/{file_name(key, suffix)}") as file:
            return file.readall()
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_file(folder: str, key: str, suffix: str, data: bytes) -> None:
    """Write an entry's file: a temporary one, renamed when it is complete, so that no reader sees a part of it."""
    mode = os.stat(folder).st_mode
    shard = make_inner_folder(folder, key[:2], mode)
    temporary = f"{make_inner_folder(folder, TEMPORARY_FOLDER, mode)}/{key[:16]}-{os.urandom(8).hex()}"
    try:
        _write_new(temporary, data, mode & 0o666)
        os.rename(temporary, f"{shard}/{key}{suffix}")
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    # A file of this key under another suffix is older, and would hide or outlive the new one.
    remove_files(folder, key, but=suffix)


def remove_files(folder: str, key: str, *, but: str = "") -> None:
    """Remove the files of a key, except one with suffix `but`."""
    for suffix in SUFFIXES:
        if suffix != but:
            remove_file(folder, file_name(key, suffix))


def remove_file(folder: str, name: str) -> None:
    """Remove an entry's file by its relative name; a name that is no entry's is left alone."""
    if parse_file_name(name) is not None:
        with contextlib.suppress(OSError):
            os.unlink(f"{folder}/{name}")


def find_file(folder: str, key: str) -> EntryInfo | None:
    """Return what the folder says of key, or None."""
    for suffix in SUFFIXES:
        with contextlib.suppress(OSError):
            found = os.stat(f"{folder}/{file_name(key, suffix)}")
            return EntryInfo(key=key, suffix=suffix, size=found.st_size, stored=found.st_mtime)
    return None


def list_files(folder: str) -> Iterator[EntryInfo]:
    """Yield every entry that has a file; what disappears meanwhile is passed over."""
    for shard in _names(folder):
        if _SHARD.fullmatch(shard):
            for name in _names(f"{folder}/{shard}"):
                parsed = parse_file_name(f"{shard}/{name}")
                if parsed is not None:
                    with contextlib.suppress(OSError):
                        found = os.stat(f"{folder}/{shard}/{name}")
                        yield EntryInfo(key=parsed[0], suffix=parsed[1], size=found.st_size, stored=found.st_mtime)


def sweep_temporaries(folder: str, *, older_than_s: float = TEMPORARY_LIFE_S) -> int:
    """Remove what writers that died left behind, and return how many files that were.

    Only names that write_file gives: the folder may be one, like a home, whose tmp is not of gridjit's making.
    """
    removed = 0
    before = time.time() - older_than_s
    for name in _names(f"{folder}/{TEMPORARY_FOLDER}"):
        path = f"{folder}/{TEMPORARY_FOLDER}/{name}"
        with contextlib.suppress(OSError):
            if _TEMPORARY.fullmatch(name) and os.stat(path).st_mtime <= before:
                os.unlink(path)
                removed += 1
    return removed


def make_folder(folder: str) -> None:
    """Make the cache folder if it is missing, for this user alone."""
    os.makedirs(folder, FOLDER_MODE, exist_ok=True)


def make_inner_folder(folder: str, name: str, mode: int) -> str:
    """Return the path of a folder inside the cache folder, made with the permissions in mode if it is missing."""
    path = f"{folder}/{name}"
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, mode & 0o777)
    return path


def distrust(folder: str) -> str | None:
    """Return why code in folder must not be run, or None: others may write there, or own it.

    Root's folders are trusted: who is root needs no cache to run code here, and images are built by root.
    Raises FileNotFoundError or NotADirectoryError if there is no folder.
    """
    found = os.stat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    if (reason := distrust_owner(found)) is not None:
        return reason
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def distrust_owner(found: os.stat_result) -> str | None:
    """Return why what a user other than this one and root owns must not be relied on, or None."""
    if found.st_uid in (os.geteuid(), 0):
        return None
    return f"belongs to user id {found.st_uid}, and this process runs as {os.geteuid()}"


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _write_new(path: str, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)
