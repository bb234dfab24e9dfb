"""Store: bytes by key. A miss is None; a fault of the disk is a miss or a dropped write, never an exception.

Keys are hexadecimal digests and suffixes come from a fixed list, because both become file names; any other is a
mistake of the caller and raises CacheError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from gridjit.base.values import dataclass
from gridjit.cache.errors import CacheError

Result = TypeVar("Result")

# The order in which a reader looks for a key: a sensitive job's marker before the plain manifest it replaced.
SUFFIXES = (".cubin", ".o", ".lcs", ".json", ".unit")
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryInfo:
    """One stored entry: its key, suffix, size in bytes as stored, and when it was stored (seconds since 1970)."""

    key: str
    suffix: str
    size: int
    stored: float


class Store(Protocol):
    """Bytes by key."""

    @property
    def layers(self) -> tuple[Store, ...]:
        """The stores that get asks, one after the other, first the store that put writes to; by default only itself."""

    def get(self, key: str) -> bytes | None:
        """Return the bytes put under key, or None."""

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Keep data under key, replacing the stored entry; a fault is reported by one warning, not raised."""

    def put_all(self, entries: Mapping[str, bytes], *, suffix: str) -> None:
        """Keep entries by key, as put does one after the other; the work that puts share is done once."""

    def together(self, work: Callable[[], Result]) -> Result:
        """Return work(), in which the work that this thread's puts share is done once; each is read at once."""

    def find(self, key: str) -> EntryInfo | None:
        """Return the EntryInfo of key without reading the entry, or None."""

    def entries(self) -> Iterator[EntryInfo]:
        """Yield every entry, in no particular order."""

    def remove(self, key: str) -> None:
        """Forget key, if it is there."""

    def close(self) -> None:
        """Let go of files and connections; the store may be used again."""


def is_key(text: str) -> bool:
    """Return whether text can name an entry."""
    return 8 <= len(text) <= 128 and not text.strip(_DIGITS)


def check_key(key: str) -> None:
    """Raise CacheError if key cannot name an entry."""
    if not is_key(key):
        raise CacheError(f"cache key {key!r}: give 8 to 128 lower-case hexadecimal digits, as key.digest does")


def check_suffix(suffix: str) -> None:
    """Raise CacheError if readers do not look for suffix."""
    if suffix not in SUFFIXES:
        raise CacheError(f"cache suffix {suffix!r}: give one of {', '.join(SUFFIXES)}")
