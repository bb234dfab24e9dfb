"""BLAKE2b and SHA-256 as hashlib has them, straight from the standard library's own modules where they are found.

hashlib loads OpenSSL first, which takes a warm start 3 ms and is asked for nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    try:
        from _sha2 import sha256  # Python 3.12 and newer
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["blake2b", "sha256"]
