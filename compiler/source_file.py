"""Digests of files by their content, re-read only when the file may have changed."""

from __future__ import annotations

import os
import time

from gridjit.digests import blake2b

# A file written twice within one tick of the clock keeps its time stamp: younger files are always read again.
_SETTLED_NS = 2_000_000_000

_digests: dict[str, tuple[tuple[int, int, int], str]] = {}


def file_digest(path: str) -> str | None:
    """Return the digest of the file's bytes, or None if there is no such file."""
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        known = _digests.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        with open(path, "rb") as file:
            digest = blake2b(file.read(), digest_size=16).hexdigest()
    except OSError:
        return None
    if time.time_ns() - status.st_mtime_ns > _SETTLED_NS:
        _digests[path] = (stamp, digest)
    else:
        _digests.pop(path, None)
    return digest
