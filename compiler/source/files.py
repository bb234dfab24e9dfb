"""Files from which code is made, read without waiting, and their digests, computed again only if a file may differ."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

from gridjit.base.digests import blake2b
from gridjit.base.interrupts import let_through, tolerated

# A file written twice within one tick of the clock keeps its time stamp, so files younger than this are read again.
_SETTLED_NS = 2_000_000_000
# The bytes read at once: more than the size that a file says it has, which may be none.
_PIECE = 1 << 14

_digests: dict[str, tuple[tuple[int, int, int], str]] = {}


def file_digest(path: str) -> str | None:
    """Return the digest of the file's bytes, or None if the file does not exist."""
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = _digests.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        with open(path, "rb") as file:
            digest = blake2b(file.read(), digest_size=16).hexdigest()
    except OSError as error:
        let_through(error)
        return None
    if time.time_ns() - status.st_mtime_ns > _SETTLED_NS:
        _digests[path] = (stamp, digest)
    else:
        _digests.pop(path, None)
    return digest


def absolute(path: str) -> str:
    """Return path from the root on; one relative to a folder that is gone stays as it is, and leads nowhere."""
    try:
        return os.path.abspath(path)
    except OSError as error:
        let_through(error)
        return path


def import_path() -> tuple[str, ...]:
    """Return the folders and archives that modules are imported from: the texts on sys.path, as Python takes them.

    An import that comes to a text that cannot be a file's name ends with a ValueError: Python passes over it now.
    """
    texts = [path for path in sys.path if isinstance(path, str)]
    if not all(map(is_a_name, texts)):
        sys.path_importer_cache.update((path, None) for path in texts if not is_a_name(path))
    return tuple(filter(is_a_name, texts))


def is_a_name(path: str) -> bool:
    """Return whether a file can have the name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def read_regular(path: str) -> bytes:
    """Return the bytes of a file; raises OSError if it is missing, unreadable or not a regular file.

    It does not wait for a pipe or a device that is in its place.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            code = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            raise OSError(code, os.strerror(code) if code == errno.EISDIR else "not a regular file", path)
        # Without a file object, which costs as much as the rest.
        data = os.read(descriptor, max(_PIECE, status.st_size + 1))
        # A file with a size is complete; a file that the system makes up when it is read may say that it has none.
        if len(data) == status.st_size > 0:
            return data
        parts = [data]
        while part := os.read(descriptor, max(_PIECE, status.st_size + 1)):
            parts.append(part)
        return b"".join(parts)
    finally:
        with tolerated(OSError):  # the bytes read are right, even if a lost mount reports an error now
            os.close(descriptor)
