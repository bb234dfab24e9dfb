"""Transport: bytes by name at a remote, over whatever its address says. Every fault is a RemoteError, an OSError."""

from __future__ import annotations

from typing import Protocol

from gridjit.cache.remote.address import RemoteAddress
from gridjit.cache.remote.credentials import Credentials
from gridjit.cache.remote.limits import Limits, MissingLibraryError, RemoteError, faults

__all__ = ["Credentials", "Limits", "MissingLibraryError", "RemoteError", "Transport", "open_transport"]


class Transport(Protocol):
    """Bytes by name: paths of letters, digits and `._-`, below the address's place and prefix.

    Threads may share a transport, and so may forked children. A name's part begins with no dot.
    """

    @property
    def lists(self) -> bool:
        """Whether names may be asked for."""

    def get(self, name: str, most: int) -> bytes | None:
        """Return the bytes put under name, or None; more than `most` bytes are a RemoteError."""

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        """Put data under name; return False if it is to be new there, and something was.

        Some HTTP servers decide that a moment before they write, so that the later of two such puts may win.
        """

    def has(self, name: str) -> bool:
        """Return whether something was put under name."""

    def names(self, folder: str) -> list[str]:
        """Return the names directly under a folder, without the folder."""

    def close(self) -> None:
        """Let go of connections; the transport may be used again."""


def open_transport(
    address: RemoteAddress, limits: Limits | None = None, credentials: Credentials | None = None
) -> Transport:
    """Return a transport to a remote; nothing is sent yet.

    Raises RemoteError for credentials that cannot be used, and MissingLibraryError.
    """
    limits, credentials = limits or Limits(), credentials or Credentials()
    with faults(address):
        return _opened(address, limits, credentials)


def _opened(address: RemoteAddress, limits: Limits, credentials: Credentials) -> Transport:
    if address.scheme in ("http", "https"):
        from gridjit.cache.remote.over_http import HttpTransport

        return HttpTransport(address, limits, credentials)
    if address.scheme == "file":
        from gridjit.cache.remote.over_files import FileTransport

        return FileTransport(address, limits)
    if address.scheme in ("redis", "rediss"):
        from gridjit.cache.remote.over_redis import RedisTransport

        return RedisTransport(address, limits, credentials)
    from gridjit.cache.remote.over_objects import ObjectTransport

    return ObjectTransport(address, limits, credentials)
