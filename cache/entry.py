"""An entry: payload bytes, then a trailer that proves which key they belong to and that they are complete.

The trailer comes last so that the usual tools can still read a sealed ELF object or cubin. From the end of the file: 32
bytes of seal, 24 bytes of tail, the key. The seal covers every byte before it. An entry that fails the check - cut
short, altered, of another key or schema, or unsigned where a signature is required - opens as None.
"""

from __future__ import annotations

import struct

from gridjit.base.digests import sha256

MAGIC = b"gridjit\0"
SCHEMA = 1
CHECKSUM, HMAC = 0, 1  # kinds of seal: SHA-256; HMAC-SHA256 under a secret
TAIL = struct.Struct("<8sHHIQ")  # magic, schema, kind of seal, length of the key, length of the payload
SEAL_BYTES = 32
TRAILER_BYTES = TAIL.size + SEAL_BYTES  # without the key


def seal(key: str, payload: bytes, *, secret: bytes | None = None) -> bytes:
    """Return payload with the trailer that open_entry checks; with a secret, signed by it."""
    name = key.encode("ascii")
    kind = CHECKSUM if secret is None else HMAC
    body = b"".join((payload, name, TAIL.pack(MAGIC, SCHEMA, kind, len(name), len(payload))))
    return body + _seal_of(memoryview(body), secret)


def open_entry(key: str, data: bytes, *, secret: bytes | None = None) -> bytes | None:
    """Return the payload sealed under key (and secret), or None if data is anything else."""
    kind, length = _trailer(key, data)
    if kind != (CHECKSUM if secret is None else HMAC):
        return None
    return data[:length] if _seal_is_right(data, secret) else None


def why_refused(key: str, data: bytes, *, secret: bytes | None = None) -> str:
    """Return why data does not open as key's entry, in words that follow the entry's name."""
    kind, _ = _trailer(key, data)
    if kind == HMAC and secret is None:
        return "is signed, and no key is set to check it"
    if kind == HMAC:
        return "is damaged, or signed with another key"
    return "is not signed" if secret is not None and open_entry(key, data) is not None else "is damaged"


def _trailer(key: str, data: bytes) -> tuple[int | None, int]:
    """Return the kind of seal and the payload's length; no kind for data that is not of key, or is incomplete."""
    name = key.encode("ascii")
    if len(data) < len(name) + TRAILER_BYTES:
        return None, 0
    magic, schema, kind, key_length, length = TAIL.unpack_from(data, len(data) - TRAILER_BYTES)
    if (magic, schema, key_length) != (MAGIC, SCHEMA, len(name)):
        return None, 0
    is_whole = length + key_length + TRAILER_BYTES == len(data) and data[length : length + key_length] == name
    return (kind, length) if is_whole else (None, 0)


def _seal_of(body: memoryview, secret: bytes | None) -> bytes:
    if secret is None:
        return sha256(body)
    import hmac

    return hmac.digest(secret, body, "sha256")


def _seal_is_right(data: bytes, secret: bytes | None) -> bool:
    mine, theirs = _seal_of(memoryview(data)[:-SEAL_BYTES], secret), data[-SEAL_BYTES:]
    if secret is None:
        return mine == theirs
    import hmac

    return hmac.compare_digest(mine, theirs)
