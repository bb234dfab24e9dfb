"""Key: the name of an entry, a digest over labelled fields that it keeps to say how it differs from another.

Label, kind, length and value of every field enter the digest, so that no two lists of fields share one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from gridjit.cache.errors import CacheError
from gridjit.digests import blake2b

FieldValue: TypeAlias = str | bytes | int
Field: TypeAlias = tuple[str, FieldValue]
Difference: TypeAlias = tuple[str, FieldValue | None, FieldValue | None]

DIGEST_BYTES = 32
# Part of every digest: another way to write fields down gets another number, and so other names.
_ENCODING = b"gridjit key 1"


@dataclass(frozen=True, slots=True)
class Key:
    """The labelled fields that name an entry, in order."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, fields: Iterable[Field]) -> Key:
        """Return the key of fields; raises CacheError for a label given twice or a value of another type."""
        listed = tuple(fields)
        seen: set[str] = set()
        for label, value in listed:
            if label in seen:
                raise CacheError(f"key field {label!r} is given twice; a label names one field")
            if not isinstance(value, (str, bytes, int)):
                raise CacheError(f"key field {label!r} is a {type(value).__name__}; give str, bytes or int")
            seen.add(label)
        return cls(listed)

    @property
    def digest(self) -> str:
        """The entry's name: 64 hexadecimal digits."""
        return digest(self.fields)

    def differences(self, other_fields: Iterable[Field]) -> tuple[Difference, ...]:
        """Return (label, mine, theirs) for every field that is not the same; None where a side lacks the label."""
        mine, theirs = dict(self.fields), dict(other_fields)
        labels = dict.fromkeys((*mine, *theirs))
        return tuple(
            (label, mine.get(label), theirs.get(label))
            for label in labels
            if _encoded(mine.get(label)) != _encoded(theirs.get(label))
        )


def digest(fields: Iterable[Field]) -> str:
    """Return the blake2b-256 digest of labelled fields, in hexadecimal."""
    state = blake2b(_ENCODING, digest_size=DIGEST_BYTES)
    for label, value in fields:
        state.update(_prefixed(label.encode("utf-8", "surrogatepass")) + _encoded(value))
    return state.hexdigest()


def _encoded(value: FieldValue | None) -> bytes:
    if isinstance(value, str):
        return b"s" + _prefixed(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return b"b" + _prefixed(value)
    return b"i" + _prefixed(str(int(value)).encode()) if value is not None else b""


def _prefixed(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data
