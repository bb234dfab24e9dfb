"""remote: the remote tier that a session's settings ask for, or the warning that says why it is not used."""

from __future__ import annotations

import os
from functools import partial

from gridjit.base.interrupts import let_through
from gridjit.cache.errors import CacheError, warn
from gridjit.cache.folder import folder_at
from gridjit.cache.remote.address import RemoteAddress
from gridjit.cache.remote.counts import note_counts
from gridjit.cache.remote.credentials import Credentials
from gridjit.cache.remote.key_lines import WRITER, WritersError, read
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import Remote, RemoteTier
from gridjit.cache.remote.transport import open_transport
from gridjit.cache.remote.trust_file import Writer
from gridjit.cache.remote.writers import SigningKey, Trust
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.environment.settings import Settings

_NOBODY = (
    "nobody is trusted to write there: name a writer with `gridjit keys trust`, give all machines the key of "
    "GRIDJIT_CACHE_KEY_FILE, or add ?unsigned to the address to run whatever is there"
)
_NOT_THERE = "none of the trusted writers may write there: `gridjit keys list` shows the prefixes of each"


def open_tier(wanted: Settings, secret: bytes | None) -> RemoteTier:
    """Return the tier of the remotes that may be used; a warning says why others are not."""
    remotes = (_usable(address, wanted, secret) for address in wanted.cache_remotes)
    save = partial(note_counts, folder_at(wanted.cache_dir, shared=wanted.cache_allow_shared))
    return RemoteTier([remote for remote in remotes if remote is not None], save)


def _usable(address: RemoteAddress, wanted: Settings, secret: bytes | None) -> Remote | None:
    try:
        return open_remote(address, wanted, secret)
    except ConfigError as error:
        warn(f"{error}. Nothing is read from it or written to it")
        return None


def opened_remote(address: RemoteAddress, wanted: Settings, secret: bytes | None) -> tuple[Remote | None, str]:
    """Return a remote whose credentials and libraries are there, or None and why they are not; it is asked nothing."""
    try:
        found = open_remote(address, wanted, secret)
        found.open()
    except (ConfigError, CacheError, OSError) as error:
        let_through(error)
        return None, str(error)
    return found, ""


def open_remote(address: RemoteAddress, wanted: Settings, secret: bytes | None) -> Remote:
    """Return a remote, which is not asked for anything yet; raises ConfigError if it cannot be trusted."""
    try:
        sealing = _sealing(address, wanted, secret)
    except WritersError as error:
        raise ConfigError(f"remote cache {address.shown}: {error}") from None
    credentials = Credentials(
        token_file=wanted.cache_remote_token, certificate=wanted.cache_remote_certificate, ca=wanted.cache_remote_ca
    )
    return Remote(address, sealing, lambda limits: open_transport(address, limits, credentials))


def _sealing(address: RemoteAddress, wanted: Settings, secret: bytes | None) -> Sealing:
    if address.unsigned:
        return Sealing(prefix=address.prefix, trust=None)
    key = None if wanted.cache_signing_key is None else SigningKey.read(wanted.cache_signing_key)
    if key is not None or os.path.exists(wanted.cache_writers):
        trust = Trust.read(wanted.cache_writers) if os.path.exists(wanted.cache_writers) else Trust()
        found = Sealing(prefix=address.prefix, trust=trust if key is None else _with_own(trust, key), key=key)
        if key is None and not found.writers:
            raise ConfigError(f"remote cache {address.told}: {_NOT_THERE}")
        return found
    if secret is None:
        raise ConfigError(f"remote cache {address.shown}: {_NOBODY}")
    return Sealing(prefix=address.prefix, trust=None, secret=secret)


def _with_own(trust: Trust, key: SigningKey) -> Trust:
    """Return trust with the writer of this process's own key; raises WritersError if it was withdrawn."""
    name, public = read(WRITER, key.public)
    known = next((writer for writer in trust.writers if writer.key == public), None)
    if known is not None and known.withdrawn is not None:
        raise WritersError(
            f"the signing key is of {known.name}, who was withdrawn on {known.withdrawn}: nobody runs what it signs; "
            "make a new key with `gridjit keys new`, or unset GRIDJIT_CACHE_SIGNING_KEY"
        )
    return trust if known is not None else Trust(*trust.writers, Writer(name=name, key=public, prefixes=("*",)))
