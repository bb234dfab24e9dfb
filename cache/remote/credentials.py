"""Credentials: a token, a client certificate or a .netrc entry, as a server of a remote cache asks for them.

None is sent in clear, except to this machine itself, and none appears in a message.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from gridjit.base.values import dataclass
from gridjit.cache.remote.address import RemoteAddress, is_loopback
from gridjit.cache.remote.limits import RemoteError, refused

if TYPE_CHECKING:
    from ssl import SSLContext, SSLError

_MOST_TOKEN_BYTES = 64 << 10
_TOKEN = r"[\x21-\x7e]+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Files: a bearer token, a client's certificate with its key (PEM), certificates of authorities (PEM)."""

    token_file: Path | None = None
    certificate: Path | None = None
    ca: Path | None = None


def authorization(address: RemoteAddress, credentials: Credentials) -> str | None:
    """Return the header for a remote: of the token file, read anew as tokens are renewed, the URL, or ~/.netrc."""
    from urllib.parse import unquote, urlsplit

    split = urlsplit(address.place)
    host = split.hostname or ""
    if credentials.token_file is not None:
        found = f"Bearer {_token(address, credentials.token_file)}"
    elif split.username is not None:
        found = _basic(unquote(split.username), unquote(split.password or ""))
    elif (entry := _in_netrc(address, host)) is not None:
        found = _basic(*entry)
    else:
        return None
    if split.scheme == "http" and not is_loopback(host):
        raise refused(address, "a token or password would be sent in clear: use https://")
    return found


def tls(address: RemoteAddress, credentials: Credentials, *, known: bool = True) -> SSLContext:
    """Return how to speak TLS with a remote; with the client's certificate if the server is known, the remote's own."""
    import ssl

    place = "GRIDJIT_CACHE_REMOTE_CA"
    try:
        context = ssl.create_default_context(cafile=credentials.ca)
        if known and credentials.certificate is not None:
            place = "GRIDJIT_CACHE_REMOTE_CERT"
            # An encrypted key is an error: without a password given here, OpenSSL asks for one at the terminal.
            context.load_cert_chain(credentials.certificate, password="")
    except (OSError, ValueError) as error:
        file = credentials.ca if place.endswith("CA") else credentials.certificate
        raise refused(address, f"{place}={file}: not readable as PEM: {error}") from error
    return context


def way_on(credentials: Credentials, sent: str | None, method: str) -> str:
    """Return the setting that may cure a server's status 401 or 403. sent: the header with which it was asked."""
    read_only = "; ?read-only in the address writes nothing" if method == "PUT" else ""
    if credentials.token_file is not None:
        return f"it does not accept the token of GRIDJIT_CACHE_REMOTE_TOKEN{read_only}"
    if sent is not None:
        return f"it does not accept the user and password in the address or ~/.netrc{read_only}"
    which = "another certificate" if credentials.certificate else "a certificate"
    return f"give GRIDJIT_CACHE_REMOTE_TOKEN, a user in ~/.netrc, or {which} in GRIDJIT_CACHE_REMOTE_CERT{read_only}"


def tls_way_on(error: SSLError) -> str:
    """Return an error of TLS in words, with the setting that may cure it."""
    what = error.reason or str(error)
    if message := getattr(error, "verify_message", ""):
        hosts = message.startswith(("Hostname", "IP address"))
        cure = "is the address right?" if hosts else "GRIDJIT_CACHE_REMOTE_CA names authorities to trust"
        return f"{what}: {message.rstrip('.')}: {cure}"
    if "ALERT" in what or "EOF" in what:  # some servers say nothing
        return f"SSL: {what}: does it want a client's certificate, in GRIDJIT_CACHE_REMOTE_CERT?"
    return f"SSL: {what}: does it speak TLS? An address that begins with http:// does without"


def _token(address: RemoteAddress, file: Path) -> str:
    place = f"GRIDJIT_CACHE_REMOTE_TOKEN={file}"
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_TOKEN_BYTES).decode("latin-1").strip()
    except OSError as error:
        raise refused(address, f"{place}: {error.strerror}") from error
    if re.fullmatch(_TOKEN, text) is None:
        raise refused(address, f"{place}: give a file that holds a token, one line without spaces")
    return text


def _basic(user: str, password: str) -> str:
    import base64

    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _in_netrc(address: RemoteAddress, host: str) -> tuple[str, str] | None:
    """Return the user and password of a host that ~/.netrc names."""
    import netrc

    try:
        entry = netrc.netrc().hosts.get(host)
    except FileNotFoundError:
        return None
    except (OSError, netrc.NetrcParseError, UnicodeError) as error:
        # Only its place: the error's words may hold a password.
        place = f"line {error.lineno}" if isinstance(error, netrc.NetrcParseError) else type(error).__name__
        raise RemoteError(f"remote cache {address.shown}: ~/.netrc cannot be read: {place}") from None
    return None if entry is None else (entry[0] or "", entry[2] or "")
