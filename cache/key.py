"""Key: the name of an entry, a digest over labelled fields.

The label, kind, lengths and value of every field enter the digest, so that different lists of fields have different
digests. A name that is not UTF-8, which Python represents with lone surrogates, has a digest like any other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeAlias

from gridjit.base.digests import blake2b, utf8
from gridjit.base.values import dataclass
from gridjit.cache.errors import CacheError

FieldValue: TypeAlias = str | bytes | int
KeyField: TypeAlias = tuple[str, FieldValue]

DIGEST_BYTES = 32
# Part of every digest: another way to write fields down gets another number, and so other names.
_ENCODING = b"gridjit key 2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The labelled fields that name an entry, in order."""

    fields: tuple[KeyField, ...]

    @classmethod
    def of(cls, fields: Iterable[KeyField]) -> Key:
        """Return the key of fields; raises CacheError for a label given twice or a value of another type."""
        listed = tuple(fields)
        values = dict(listed)
        if len(values) != len(listed) or _joined(values.values()) is None:
            _check(listed)
        return cls(fields=listed)

    @property
    def digest(self) -> str:
        """The entry's name: 64 hexadecimal digits."""
        return digest(self.fields)


def digest(fields: Iterable[KeyField]) -> str:
    """Return the blake2b-256 digest of labelled fields, in hexadecimal.

    All lengths come first, then all texts: a job has thousands of fields, so each are joined at once.
    """
    labels, values = tuple(zip(*fields, strict=True)) or ((), ())
    kinds = b"s" * len(values)
    if (text := _joined(values)) is None:
        kinds, values = b"".join(map(_kind, values)), tuple(map(_text, values))
        text = "".join(values)
    lengths = struct.pack(f"<{2 * len(labels)}Q", *map(len, labels), *map(len, values))
    head = struct.pack("<Q", len(labels))
    whole = b"".join((_ENCODING, head, kinds, lengths, utf8("".join(labels)), utf8(text)))
    return blake2b(whole, digest_size=DIGEST_BYTES).hexdigest()


def _joined(values: Iterable[FieldValue]) -> str | None:
    """Return the values as one text, or None if some are of another type."""
    try:
        return "".join(values)  # type: ignore[arg-type]
    except TypeError:
        return None


def _check(fields: tuple[KeyField, ...]) -> None:
    """Raise CacheError for a label given twice or a value of another type."""
    seen: set[str] = set()
    for label, value in fields:
        if label in seen:
            raise CacheError(f"key field {label!r} is given twice; a label names one field")
        if not isinstance(value, (str, bytes, int)):
            raise CacheError(f"key field {label!r} is a {type(value).__name__}; give str, bytes or int")
        seen.add(label)


def _kind(value: FieldValue) -> bytes:
    return b"s" if isinstance(value, str) else b"b" if isinstance(value, bytes) else b"i"


def _text(value: FieldValue) -> str:
    """Return a value as text: bytes as the characters of their numbers, an integer in decimal."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else str(int(value))
