"""Writers of a remote cache: entries are signed by one (Ed25519), and opened where that one is trusted.

A signature covers the prefix and the name of its entry, so that an entry can neither be renamed nor moved. The trailer
comes last: magic, version, 16 bytes of the SHA-256 of the public key, the signature. The library for signatures is
imported to sign, and to open an entry that names a trusted writer.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

from gridjit.base.digests import sha256, utf8
from gridjit.base.interrupts import let_through
from gridjit.cache.errors import way_to_install
from gridjit.cache.folder import Distrusted, close, distrust_private, read_apart
from gridjit.cache.remote import key_lines
from gridjit.cache.remote.key_lines import KEY_BYTES, SIGNING_KEY, WRITER, WritersError, checked_name
from gridjit.cache.remote.trust_file import Writer, read_writers

MAGIC, VERSION = b"gridjitW", 1
TRAILER = struct.Struct("<8sI16s64s")  # magic, version, fingerprint, signature
_SIGNED = TRAILER.size - 64  # of the trailer
_DOMAIN = b"gridjit entry of a remote cache, version 1\0"
_LENGTH = struct.Struct("<Q")
_MOST_BYTES = 4096  # of a private key's file


class Refused(Exception):
    """An entry is not opened. reason: why, to be read after the entry's name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SigningKey:
    """A private key. name: its writer's; public: its public line, which others trust."""

    def __init__(self, name: str, secret: bytes) -> None:
        self.name = checked_name(name)
        self._key = library().Ed25519PrivateKey.from_private_bytes(secret)
        public = self._key.public_key().public_bytes_raw()
        self.public = key_lines.written(WRITER, name, public)
        self._head = TRAILER.pack(MAGIC, VERSION, fingerprint(public), bytes(64))[:_SIGNED]

    @classmethod
    def read(cls, path: Path) -> SigningKey:
        """Return the key of a file that only its owner may use; raises WritersError with the reason for a refusal."""
        try:
            data = read_apart(path, _MOST_BYTES, distrust_private)
        except Distrusted as error:
            raise WritersError(f"the signing key {path} {error.reason}") from None
        except OSError as error:
            let_through(error)
            raise WritersError(f"the signing key {path} cannot be read ({error.strerror})") from None
        try:
            return cls(*key_lines.read(SIGNING_KEY, data.decode("ascii", "replace")))
        except WritersError as error:
            raise WritersError(f"the signing key {path} is not used: {error}") from None

    @classmethod
    def new(cls, name: str, path: Path) -> SigningKey:
        """Return a new key, written to a file that is not there yet; raises WritersError."""
        secret = os.urandom(KEY_BYTES)
        made = cls(name, secret)
        try:
            _write_new(path, f"{key_lines.written(SIGNING_KEY, name, secret)}\n".encode())
        except FileExistsError:
            raise WritersError(f"{path} is there already, and a key is never overwritten: give another file") from None
        except OSError as error:
            let_through(error)
            raise WritersError(f"the signing key {path} cannot be written ({error.strerror})") from None
        return made

    def sign(self, prefix: str, name: str, data: bytes) -> bytes:
        """Return data with the trailer that opens under this prefix and name only."""
        signature: bytes = self._key.sign(_message(self._head, prefix, name, data))
        return b"".join((data, self._head, signature))


class Trust:
    """The writers that are trusted, from the trust file."""

    def __init__(self, *writers: Writer) -> None:
        self.writers = writers
        self._by_fingerprint = {fingerprint(writer.key): writer for writer in writers}

    @classmethod
    def read(cls, path: Path) -> Trust:
        """Return the trust of a file; raises WritersError with the reason why it is refused."""
        return cls(*read_writers(path))

    def open(self, prefix: str, name: str, data: bytes) -> tuple[bytes, str]:
        """Return an entry's data without the trailer, and its writer's name; raises Refused.

        Raises WritersError where the library for signatures is not installed.
        """
        if len(data) < TRAILER.size:
            raise Refused("is not signed")
        end = len(data) - TRAILER.size
        magic, version, named, signature = TRAILER.unpack_from(data, end)
        if magic != MAGIC:
            raise Refused("is not signed, or was cut short")
        if version != VERSION:
            raise Refused(f"has a signature of version {version}, and this gridjit reads version {VERSION}")
        writer = self._trusted(named, prefix)
        body = data[:end]
        if not _is_right(writer.key, signature, _message(data[end : end + _SIGNED], prefix, name, body)):
            raise Refused(f"is not as {writer.name} signed it: it was altered, renamed or moved")
        return body, writer.name

    def _trusted(self, named: bytes, prefix: str) -> Writer:
        """Return the writer of a fingerprint, which is trusted for the prefix; raises Refused."""
        writer = self._by_fingerprint.get(named)
        if writer is None:
            raise Refused(f"is signed by an unknown writer (fingerprint {named.hex()})")
        if writer.withdrawn is not None:
            raise Refused(f"is signed by {writer.name}, who was withdrawn on {writer.withdrawn}")
        if not writer.writes(prefix):
            allowed = ", ".join(writer.prefixes) or "none"
            raise Refused(f"is signed by {writer.name}, who is trusted for {allowed}, and not for {prefix!r}")
        return writer


def fingerprint(public: bytes) -> bytes:
    """Return 16 bytes that a trailer names a public key by."""
    return sha256(public)[:16]


def _message(head: bytes, prefix: str, name: str, data: bytes) -> bytes:
    """Return the bytes that are signed, of which no two entries have the same: each part follows its length."""
    parts = (head, utf8(prefix), utf8(name))
    framed = [piece for part in parts for piece in (_LENGTH.pack(len(part)), part)]
    return b"".join((_DOMAIN, *framed, _LENGTH.pack(len(data)), sha256(data)))


def _is_right(public: bytes, signature: bytes, message: bytes) -> bool:
    ed25519 = library()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):  # ValueError: a public key that is not a point of the curve
        return False
    return True


def library() -> Any:
    """Return the library for signatures; raises WritersError where it is not installed."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise WritersError(
            f"signatures of a remote cache need cryptography, which is not installed: {way_to_install('remote')}"
        ) from None
    return ed25519


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, for its owner to read only; nothing is left if that fails."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
    try:
        os.fchmod(descriptor, 0o400)  # whatever the umask
        os.write(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        close(descriptor)
