"""Folder: a cache folder in which every directory and file is opened from the one above it, and checked once open.

Inside it, links are not followed, only regular files are read or locked, and pipes and devices are never waited for. A
file that another user owns or may write to is not used, unless the folder is shared on purpose. Root's files are used:
root does not need a cache to run code here, and images are built by root.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from gridjit.base.interrupts import let_through, tolerated
from gridjit.base.values import dataclass

FOLDER_MODE = 0o700  # of a folder made here; folders and files inside it have no more permissions than it
_ABOVE_MODE = 0o755  # of folders made above it: a user who may write there could put another in its place
_DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC
ENTER, LIST = os.O_PATH | _DIRECTORY, os.O_RDONLY | _DIRECTORY  # a directory of which files are opened, or names read
# Not blocking: a pipe would make every process wait.
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Distrusted(OSError):
    """A file or directory must not be used. name: its path in the folder, "" for the folder itself; reason: why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name or 'it'} {reason}")
        self.name, self.reason = name, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """The place of a cache, and whether files that other users own or may write there are used."""

    path: str
    shared: bool = False


def folder_at(path: str | os.PathLike[str], *, shared: bool = False) -> Folder:
    """Return the folder at a path, which stays where it is when the process changes its own."""
    name = rooted(os.fsdecode(path))
    return Folder(path=name.rstrip("/") or "/", shared=shared)


def rooted(path: str) -> str:
    """Return path from the root on; where the current folder is gone, a place where nothing can be made."""
    if os.path.isabs(path):
        return path
    try:
        return f"{os.getcwd()}/{path}"
    except OSError as error:
        let_through(error)
        return f"{os.devnull}/{path}"


def make_folder(path: str, mode: int = FOLDER_MODE) -> None:
    """Make the cache folder if it is missing, for this user alone, and the folders above it."""
    with contextlib.suppress(FileNotFoundError):
        os.lstat(path)  # a name that is too long is refused before anything is made
    missing = [path]
    # The root is not asked for: a system that fails for every name would be asked for ever.
    while (above := os.path.dirname(missing[-1])) != missing[-1] and not os.path.lexists(above):
        missing.append(above)
    for name in reversed(missing):
        if os.path.isdir(name):
            continue
        try:
            make_directory(name, mode if name is path else _ABOVE_MODE)
        except FileExistsError:
            if not os.path.isdir(name):  # another process may have been faster
                raise


def make_directory(name: str, mode: int, *, above: int | None = None) -> None:
    """Make a directory that this user can use, even where the program's umask is meant for files, as 0o177 is.

    above: a descriptor of the directory that name is in. Raises OSError.
    """
    os.mkdir(name, mode, dir_fd=above)
    made = os.open(name, ENTER | os.O_NOFOLLOW, dir_fd=above)
    try:
        found = os.fstat(made)
        if ~found.st_mode & mode & 0o700 and found.st_uid == os.geteuid():
            # By its descriptor: others may have put a link in its place meanwhile.
            os.chmod(f"/proc/self/fd/{made}", stat.S_IMODE(found.st_mode) | (mode & 0o700))
    finally:
        close(made)


def open_folder(folder: Folder) -> int:
    """Return a descriptor of the folder; raises Distrusted, or another OSError.

    The name may be a link of this user's or root's. Links and folders above it are the user's choice.
    """
    try:
        descriptor = os.open(folder.path, ENTER | os.O_NOFOLLOW)
    except NotADirectoryError:
        _check_link(folder.path)
        descriptor = os.open(folder.path, ENTER)
    return _checked(folder, descriptor, "")


def open_inner(folder: Folder, name: str, how: int = ENTER) -> int:
    """Return a descriptor of a directory in the folder; raises Distrusted, or another OSError."""
    top = open_folder(folder)
    try:
        return open_below(folder, top, name, how)
    finally:
        close(top)


def open_below(folder: Folder, top: int, name: str, how: int = ENTER) -> int:
    """Return a descriptor of a directory in the folder, which is open; raises Distrusted, or another OSError."""
    return _checked(folder, os.open(name, how | os.O_NOFOLLOW, dir_fd=top), name)


def read_below(folder: Folder, directory: int, name: str, limit: int) -> bytes | None:
    """Return the bytes of a file in an open directory, or None if there is none; raises Distrusted, or another OSError.

    limit: bytes that no entry has more of; a file that does is not read.
    """
    try:
        descriptor = os.open(name, os.O_RDONLY | FILE, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        check_file(folder, found, name)
        if found.st_size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), name)
        data = os.read(descriptor, found.st_size)
        # A network's file system may give less at a time.
        while len(data) < found.st_size and (more := os.read(descriptor, found.st_size - len(data))):
            data += more
        return data
    finally:
        close(descriptor)


def read_apart(path: str | os.PathLike[str], limit: int, distrusted: Callable[[os.stat_result], str | None]) -> bytes:
    """Return a regular file's bytes, at most limit; raises Distrusted if distrusted gives a reason, or another OSError.

    The file is one that the user names: links are followed. A pipe is not waited for.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        # Of the open file, so that no other file can take its place between the check and the reading.
        found = os.fstat(descriptor)
        reason = distrusted(found) if stat.S_ISREG(found.st_mode) else "is not a regular file"
        if reason is not None:
            raise Distrusted("", reason)
        data = os.read(descriptor, limit)
        while len(data) < limit and (more := os.read(descriptor, limit - len(data))):
            data += more
        return data
    finally:
        close(descriptor)


def close(descriptor: int) -> None:
    """Close a descriptor. It is gone even if the system reports an error, as of a file on a lost mount."""
    with tolerated(OSError):
        os.close(descriptor)


def check_file(folder: Folder, found: os.stat_result, name: str) -> None:
    """Raise an OSError unless an open file is a regular one, and Distrusted unless it may be used."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", name)
    if not folder.shared and (reason := distrust(found)) is not None:
        raise Distrusted(name, reason)


def distrust(found: os.stat_result) -> str | None:
    """Return why a file must not be relied on, or None: other users may write it, or own it."""
    if (reason := distrust_owner(found)) is not None:
        return reason
    # A link has every permission, and nobody can write it.
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by other users (mode {stat.S_IMODE(found.st_mode):o})"
    return None


def distrust_private(found: os.stat_result) -> str | None:
    """Return why a file does not hold a secret, or None: other users may use it, or own it."""
    if (reason := distrust_owner(found)) is not None:
        return reason
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"can be used by users other than its owner (mode {stat.S_IMODE(found.st_mode):o}; chmod 400 it)"
    return None


def distrust_owner(found: os.stat_result) -> str | None:
    """Return why a file must not be relied on, or None: a user other than this one and root owns it."""
    if found.st_uid in (os.geteuid(), 0):
        return None
    return f"belongs to user id {found.st_uid}, and this process runs as {os.geteuid()}"


def is_open_to_others(folder: Folder) -> bool:
    """Return whether the folder, which is there, is used although others own it or may write it."""
    return folder.shared and distrust(os.stat(folder.path)) is not None


def _checked(folder: Folder, descriptor: int, name: str) -> int:
    """Return the descriptor of a directory that may be used; else close it and raise Distrusted."""
    try:
        if not folder.shared and (reason := distrust(os.fstat(descriptor))) is not None:
            raise Distrusted(name, reason)
    except BaseException:
        close(descriptor)
        raise
    return descriptor


def _check_link(path: str) -> None:
    """Raise an OSError if path is a link that another user put there, who may turn it anywhere."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode) and (reason := distrust_owner(found)) is not None:
        raise OSError(f"it is a symbolic link that {reason}")
