"""BLAKE2b and SHA-256 as in hashlib, but from Python's own modules where loading OpenSSL is not worth it.

hashlib loads OpenSSL first, 3 ms of a warm start. Its BLAKE2b is Python's own anyway; its SHA-256 is faster (5 times).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
    from hashlib import sha256 as _own_sha256
else:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    try:
        from _sha2 import sha256 as _own_sha256  # Python 3.12 and newer
    except ImportError:
        try:
            from _sha256 import sha256 as _own_sha256
        except ImportError:
            from hashlib import sha256 as _own_sha256

__all__ = ["blake2b", "sha256", "utf8"]

# Bytes of one digest that OpenSSL is loaded for.
_MANY = 256 << 10


def sha256(data: bytes | memoryview) -> bytes:
    """Return the SHA-256 digest of data, 32 bytes."""
    if "hashlib" in sys.modules or len(data) >= _MANY:
        import hashlib

        return hashlib.sha256(data).digest()
    return _own_sha256(data).digest()


def utf8(text: str) -> bytes:
    """Return text's bytes; also of a name that is not UTF-8, which Python has as lone surrogates."""
    return text.encode("utf-8", "surrogatepass")
