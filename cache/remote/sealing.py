"""Sealing: how an entry is sealed for a remote, and what makes it trusted: a named writer, a secret, or nothing."""

from __future__ import annotations

from gridjit.base.values import dataclass
from gridjit.cache.entry import open_entry, seal
from gridjit.cache.remote.writers import Refused, SigningKey, Trust, library


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """Of one remote. trust: the writers whose entries are taken, None for a remote without signatures.

    key: signs entries; without it, none are written where signatures are wanted. secret: of the cache folders, where
    there are no signatures.
    """

    prefix: str
    trust: Trust | None
    key: SigningKey | None = None
    secret: bytes | None = None

    @property
    def writes(self) -> bool:
        """Whether entries that are written here can be read elsewhere."""
        return self.trust is None or self.key is not None

    @property
    def told(self) -> str:
        """Whose entries are taken, in words."""
        if self.trust is None:
            return "entries sealed with the key of GRIDJIT_CACHE_KEY_FILE" if self.secret else "unsigned entries"
        return f"entries of {', '.join(self.writers)}"

    @property
    def writers(self) -> list[str]:
        """The names of the writers whose entries are taken."""
        known = () if self.trust is None else self.trust.writers
        return [writer.name for writer in known if writer.writes(self.prefix) and not writer.withdrawn]

    def prepare(self) -> None:
        """Import the library for signatures, if there are any; raises WritersError where it is not installed."""
        if self.trust is not None:
            library()

    def sealed(self, name: str, key: str, payload: bytes) -> bytes:
        """Return an entry's bytes for the remote, where it is called name."""
        return self.signed(name, seal(key, payload, secret=self.folder_secret))

    def opened(self, name: str, key: str, data: bytes) -> bytes:
        """Return the payload of an entry; raises Refused."""
        payload = open_entry(key, self.checked(name, data), secret=self.folder_secret)
        if payload is None:
            raise Refused("is damaged, or sealed in another way")
        return payload

    def signed(self, name: str, data: bytes) -> bytes:
        """Return data with its writer's signature, if there are signatures."""
        return data if self.key is None or self.trust is None else self.key.sign(self.prefix, name, data)

    def checked(self, name: str, data: bytes) -> bytes:
        """Return data without the signature; raises Refused."""
        return data if self.trust is None else self.trust.open(self.prefix, name, data)[0]

    @property
    def folder_secret(self) -> bytes | None:
        """The secret that seals entries, below any signature."""
        return self.secret if self.trust is None else None
