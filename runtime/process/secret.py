"""The secret that signs a cache's entries, read from a file that only its owner can read."""

from __future__ import annotations

from pathlib import Path

from gridjit.base.interrupts import let_through
from gridjit.cache.folder import Distrusted, distrust_private, read_apart
from gridjit.compiler.values.errors import ConfigError

MIN_BYTES = 16
MAX_BYTES = 4096
_WAY_ON = "make a valid one with: head -c 32 /dev/urandom > FILE && chmod 400 FILE"


def read_secret(path: Path, place: str = "GRIDJIT_CACHE_KEY_FILE=") -> bytes:
    """Return all bytes of the file; raises ConfigError with the reason why it is refused.

    place: the setting or the option that named it, as an error writes it before the path.
    """
    try:
        secret = read_apart(path, MAX_BYTES + 1, distrust_private)
    except Distrusted as error:
        raise _refused(f"{place}{path}", error.reason) from None
    except OSError as error:
        let_through(error)
        raise _refused(f"{place}{path}", f"cannot be read ({error.strerror})") from None
    if not MIN_BYTES <= len(secret) <= MAX_BYTES:
        raise _refused(f"{place}{path}", f"does not hold from {MIN_BYTES} to {MAX_BYTES} bytes")
    return secret


def _refused(named: str, reason: str) -> ConfigError:
    return ConfigError(f"{named} {reason}; {_WAY_ON}")
