"""The trust file: the writers whose entries of a remote cache are run here, as JSON that only its owner may write.

It is replaced as a whole, and changed by one process at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from gridjit.base import reading
from gridjit.base.interrupts import let_through
from gridjit.base.printable import printable
from gridjit.base.values import dataclass
from gridjit.cache.files import opened
from gridjit.cache.folder import Distrusted, distrust, make_folder, read_apart
from gridjit.cache.remote.key_lines import WritersError, checked_name, key_of, key_text

SCHEMA = 1
MOST_BYTES = 1 << 20
_MODE = 0o644  # nothing in it is secret
_FIELDS = ("name", "key", "prefixes", "withdrawn")
_PREFIX = r"\*|(?!(?:.*/)?\.{1,2}(?:/|$))[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*(?:/\*)?"
PREFIXES = "a prefix such as main, pr/* for all below pr/, or * for all"
_WAY_ON = "`gridjit keys trust` adds writers to it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A writer: its name, its public key, patterns of the prefixes it is trusted for, the date of its withdrawal."""

    name: str
    key: bytes
    prefixes: tuple[str, ...]
    withdrawn: str | None = None

    def writes(self, prefix: str) -> bool:
        """Return whether it is trusted for a prefix."""
        return any(_matches(pattern, prefix) for pattern in self.prefixes)


def checked_prefix(pattern: str) -> str:
    """Return a pattern of prefixes; raises WritersError for any other text."""
    if not re.fullmatch(_PREFIX, pattern):
        raise WritersError(f"{printable(pattern)!r} is not a pattern of prefixes: give {PREFIXES}")
    return pattern


def read_writers(path: Path) -> tuple[Writer, ...]:
    """Return the writers of a trust file; raises WritersError if it is not there, not valid, or others may write it."""
    try:
        data = read_apart(path, MOST_BYTES + 1, distrust)
    except Distrusted as error:
        raise WritersError(f"the trust file {path} {error.reason}: who writes it decides which code is run") from None
    except OSError as error:
        let_through(error)
        raise WritersError(f"the trust file {path} cannot be read ({error.strerror}); {_WAY_ON}") from None
    try:
        return _parsed(data)
    except (ValueError, WritersError) as error:
        raise WritersError(f"the trust file {path} is not valid: {printable(str(error))}") from None


def change_writers(path: Path, change: Callable[[tuple[Writer, ...]], tuple[Writer, ...]]) -> tuple[Writer, ...]:
    """Replace a trust file's writers by change of them, while no other process changes it, and return the new ones.

    Raises WritersError.

    A file that is not there has no writers. A link keeps leading to the file.
    """
    place = Path(os.path.realpath(path))
    try:
        make_folder(str(place.parent))
        with opened(_locked(place)):
            before = read_writers(place) if place.exists() else ()
            after = change(before)
            _replace(place, _text(after))
            return after
    except OSError as error:
        let_through(error)
        raise WritersError(f"the trust file {path} cannot be written ({error.strerror})") from None


def _matches(pattern: str, prefix: str) -> bool:
    if pattern.endswith("*"):
        return prefix.startswith(pattern[:-1])
    return prefix == pattern


def _locked(place: Path) -> int:
    """Return a descriptor that holds the lock of a trust file until it is closed."""
    name = place.with_name(f".{place.name}.lock")
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _replace(place: Path, data: bytes) -> None:
    """Replace a file by a complete one with the same permissions."""
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else _MODE
    temporary = place.with_name(f".{place.name}-{os.urandom(8).hex()}")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)  # whatever the umask
            os.fsync(file.fileno())
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _parsed(data: bytes) -> tuple[Writer, ...]:
    """Return the writers in data; raises ValueError, or WritersError for a bad name or prefix."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    whole = reading.fields(reading.parse(data), ("schema", "writers"))
    reading.whole(whole["schema"], least=SCHEMA, most=SCHEMA)
    writers = reading.items(whole["writers"], _writer)
    for field in ("name", "key"):
        check_unique(writers, field)
    return writers


def check_unique(writers: tuple[Writer, ...], field: str) -> None:
    """Raise WritersError if two writers have the same name, or the same key."""
    seen: dict[Any, Writer] = {}
    for writer in writers:
        other = seen.setdefault(getattr(writer, field), writer)
        if other is not writer:
            raise WritersError(f"the writers {other.name} and {writer.name} have the same {field}")


def _writer(value: Any) -> Writer:
    known = reading.fields(value, _FIELDS)
    withdrawn = known["withdrawn"]
    return Writer(
        name=checked_name(reading.text(known["name"])),
        key=key_of(reading.text(known["key"])),
        prefixes=reading.items(known["prefixes"], lambda one: checked_prefix(reading.text(one))),
        withdrawn=None if withdrawn is None else date.fromisoformat(reading.text(withdrawn)).isoformat(),
    )


def plain(writer: Writer) -> dict[str, Any]:
    """Return a writer as values of JSON."""
    found = {name: getattr(writer, name) for name in _FIELDS}
    return found | {"key": key_text(writer.key), "prefixes": list(writer.prefixes)}


def _text(writers: tuple[Writer, ...]) -> bytes:
    whole = {"schema": SCHEMA, "writers": [plain(writer) for writer in writers]}
    return f"{json.dumps(whole, indent=2)}\n".encode()
