"""FileTransport: a folder of a network file system, without locks. A file there is complete as soon as it has its name.

A mount that hangs cannot be interrupted, so each call waits for a thread that touches it, and for no longer than its
limit.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from gridjit.cache.remote.address import RemoteAddress, check_name, is_name
from gridjit.cache.remote.limits import Limits, faults, refused, within

Value = TypeVar("Value")
# Of file systems without hard links, or that refuse them.
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


class FileTransport:
    """Bytes by name in the files of a folder."""

    lists = True

    def __init__(self, address: RemoteAddress, limits: Limits) -> None:
        self._address, self._limits = address, limits
        self._top = Path(unquote(urlsplit(address.place).path))
        self._folder = self._top / address.prefix

    def get(self, name: str, most: int) -> bytes | None:
        """Return the bytes of a file, or None; more than `most` bytes are a RemoteError."""
        file = self._file(name)
        found = self._within(lambda: _read(file, most))
        if found is not None and len(found) > most:
            raise refused(self._address, f"{name} has more than {most} bytes")
        return found

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        """Write a file; return False if it is to be new there, and there was one."""
        file = self._file(name)
        return self._within(lambda: _write(file, data, new=new, top=self._top))

    def has(self, name: str) -> bool:
        """Return whether there is a file."""
        file = self._file(name)
        return self._within(file.is_file)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder."""
        where = self._file(folder)
        return self._within(lambda: _names(where))

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _file(self, name: str) -> Path:
        return self._folder / check_name(name)

    def _within(self, work: Callable[[], Value]) -> Value:
        with faults(self._address):
            return within(self._limits.whole, work)


def _read(file: Path, most: int) -> bytes | None:
    """Return the bytes of a file, one more than `most` at the most, or None if there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with open(descriptor, "rb", buffering=0) as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, f"{file.name} is not a regular file")
        parts, left = [], most + 1
        while left and (part := opened.read(min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    return b"".join(parts)


def _write(file: Path, data: bytes, *, new: bool, top: Path) -> bool:
    if not top.is_dir():  # a file system that is not mounted
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {top}")
    if new and file.exists():
        return False
    temporary = file.with_name(f".gridjit-{os.urandom(8).hex()}")
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.write_bytes(data)
        if new:
            return _link(temporary, file)
        os.replace(temporary, file)
        return True
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def _link(temporary: Path, file: Path) -> bool:
    """Give a complete file its name if nobody has it; return whether it has it now."""
    try:
        os.link(temporary, file)
    except FileExistsError:
        # A server may have made the link, lost its answer, and met the link when it was asked again.
        return temporary.stat().st_nlink > 1
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(temporary, file)
    return True


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.name for entry in found if is_name(entry.name) and entry.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return []
