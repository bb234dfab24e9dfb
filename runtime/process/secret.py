"""The secret that signs a cache's entries, read from a file that only its owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gridjit.base.interrupts import tolerated
from gridjit.cache.folder import distrust_owner
from gridjit.compiler.values.errors import ConfigError

MIN_BYTES = 16
MAX_BYTES = 4096
_WAY_ON = "make a valid one with: head -c 32 /dev/urandom > FILE && chmod 400 FILE"


def read_secret(path: Path) -> bytes:
    """Return all bytes of the file; raises ConfigError with the reason why it is refused."""
    try:
        # Not blocking: a pipe in its place would make every process wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from None
    try:
        # Of the open file, so that no other file can take its place between the check and the reading.
        if (reason := _distrust(os.fstat(descriptor))) is not None:
            raise _refused(path, reason)
        secret = os.read(descriptor, MAX_BYTES + 1)
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror})") from None
    finally:
        with tolerated(OSError):
            os.close(descriptor)
    if not MIN_BYTES <= len(secret) <= MAX_BYTES:
        raise _refused(path, f"does not hold from {MIN_BYTES} to {MAX_BYTES} bytes")
    return secret


def _distrust(found: os.stat_result) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "is not a regular file"
    if (reason := distrust_owner(found)) is not None:
        return reason
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"can be used by users other than its owner (mode {stat.S_IMODE(found.st_mode):o}; chmod 400 it)"
    return None


def _refused(path: Path, reason: str) -> ConfigError:
    return ConfigError(f"GRIDJIT_CACHE_KEY_FILE={path} {reason}; {_WAY_ON}")
