"""Bundle: entries of a cache in one file, to copy to another machine. The same entries give the same bytes.

Entries are sealed as they are in a cache folder, so each can be checked by itself, and a signed bundle is read only
with the secret that signed it. Importing adds what is missing: existing entries stay, manifests are merged, with the
existing shapes as the newer ones, and jobs of histories that are not yet known take places of their own.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TypeAlias

from gridjit.cache.entry import open_entry, seal
from gridjit.cache.errors import CacheError
from gridjit.cache.files import file_name, parse_file_name
from gridjit.cache.history import History, add_job, read_history
from gridjit.cache.lock import Locks
from gridjit.cache.manifest import PLAIN_SUFFIX, SENSITIVE_SUFFIX, Manifest
from gridjit.cache.store import EntryInfo, Store

MAGIC = b"gridjit bundle 1"
HEAD = struct.Struct("<HQ")  # length of the name, length of the sealed entry
DIGEST_BYTES = 32
_MERGED = (SENSITIVE_SUFFIX, PLAIN_SUFFIX)
# A bundle's file, or its bytes.
Source: TypeAlias = "str | os.PathLike[str] | bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleEntry:
    """One entry of a bundle; payload is None if its seal is not right."""

    key: str
    suffix: str
    payload: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import: keys added, merged into a stored entry, stored already, refused, and not kept."""

    added: tuple[str, ...]
    merged: tuple[str, ...]
    known: tuple[str, ...]
    refused: tuple[str, ...]
    dropped: tuple[str, ...]


def write_bundle(
    path: str | os.PathLike[str],
    store: Store,
    infos: Iterable[EntryInfo],
    secret: bytes | None,
    each: Callable[[str], object] = str,
) -> int:
    """Write the entries to a file, which appears when it is complete; return how many were still there and good.

    each: called with the key of each entry before it is read.
    It takes the place of a regular file only: raises CacheError if a pipe, a device, a link or the like is there.
    """
    target = Path(path)
    _check_place(target)
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        with open(temporary, "xb") as file:
            count = _write(file, store, sorted(infos, key=_order), secret, each)
        _check_place(target)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def bundle_bytes(
    store: Store, infos: Iterable[EntryInfo], secret: bytes | None, each: Callable[[str], object] = str
) -> bytes:
    """Return a bundle of the entries that are still there and good; each: called as write_bundle does."""
    file = io.BytesIO()
    _write(file, store, sorted(infos, key=_order), secret, each)
    return file.getvalue()


def read_bundle(source: Source, secret: bytes | None) -> Iterator[BundleEntry]:
    """Yield the entries of a bundle; raises CacheError if it is not one, or is cut short or altered."""
    source_name = "in memory" if isinstance(source, bytes) else str(source)
    with _opened(source) as file:
        # Of the open file, so that nobody can put another in its place between the check and the reading.
        _check(source_name, file)
        file.seek(len(MAGIC))
        while (head := file.read(HEAD.size))[:2] != b"\0\0":
            name_length, length = HEAD.unpack(head)
            name, data = file.read(name_length).decode("ascii", "replace"), file.read(length)
            parsed = parse_file_name(name)
            if parsed is None:
                raise CacheError(f"bundle {source_name}: {name!r} does not name an entry")
            yield BundleEntry(key=parsed[0], suffix=parsed[1], payload=open_entry(parsed[0], data, secret=secret))


def entries_in(source: Source) -> int:
    """Return how many entries a source says it has, if it is a bundle; it is not checked."""
    with _opened(source) as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - HEAD.size - sha256().digest_size))
        end = file.read(HEAD.size)
    return int(HEAD.unpack(end)[1]) if len(end) == HEAD.size else 0


def import_bundle(
    source: Source,
    store: Store,
    locks: Locks,
    secret: bytes | None,
    each: Callable[[str], object] = str,
) -> Imported:
    """Add a bundle's entries to store. Existing entries stay, or are merged.

    each: called with the key of each entry before it is added.
    Raises CacheError, before anything is added, if source is not a bundle, or is cut short or altered.
    """
    done: dict[str, list[str]] = {"added": [], "merged": [], "known": [], "refused": [], "dropped": []}

    found = set[str]()

    def add() -> None:
        # Artifacts come first in a bundle: a manifest is put when what it names is there.
        for entry in read_bundle(source, secret):
            each(entry.key)
            if entry.suffix != PLAIN_SUFFIX:  # jobs of a history have places of their own
                found.add(entry.key)
            done["refused" if entry.payload is None else _add(store, locks, entry, entry.payload)].append(entry.key)

    store.together(add)
    # The index may not have noted them, or they made room for each other.
    lost = {key for key in found.intersection(done["added"]) if store.find(key) is None}
    done["added"] = [key for key in done["added"] if key not in lost]
    done["dropped"] += sorted(lost)
    return Imported(**{what: tuple(keys) for what, keys in done.items()})


def _check_place(target: Path) -> None:
    try:
        kind = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # nothing can take a folder's place
        raise CacheError(f"{target} exists and is not a regular file: nothing was written")


def _order(info: EntryInfo) -> tuple[bool, str, str]:
    return info.suffix in _MERGED, info.key, info.suffix


def _write(
    file: BinaryIO, store: Store, infos: Iterable[EntryInfo], secret: bytes | None, each: Callable[[str], object]
) -> int:
    digest = sha256()
    count = 0

    def put(data: bytes) -> None:
        digest.update(data)
        file.write(data)

    put(MAGIC)
    for info in infos:
        each(info.key)
        payload = store.get(info.key)
        if payload is not None:
            name, data = file_name(info.key, info.suffix).encode("ascii"), seal(info.key, payload, secret=secret)
            put(HEAD.pack(len(name), len(data)))
            put(name)
            put(data)
            count += 1
    put(HEAD.pack(0, count))
    file.write(digest.digest())
    return count


@contextlib.contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    # Not blocking: a pipe would make the command wait.
    with open(source, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CacheError(f"bundle {source} is not a regular file")
        yield file


def _check(name: str, file: BinaryIO) -> None:
    """Raise CacheError unless the open file of a name is a whole bundle."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    digest = sha256()
    if file.read(len(MAGIC)) != MAGIC:
        raise CacheError(f"{name} is not a gridjit bundle of this version: write one with `gridjit cache export`")
    digest.update(MAGIC)
    count = 0
    while True:
        head = file.read(HEAD.size)
        digest.update(head)
        name_length, length = HEAD.unpack(head) if len(head) == HEAD.size else (1, size)
        if name_length == 0:
            break
        if name_length + length > size - file.tell():
            raise CacheError(f"bundle {name} is cut short or altered: copy it again")
        digest.update(file.read(name_length + length))
        count += 1
    if length != count or file.read() != digest.digest():
        raise CacheError(f"bundle {name} is cut short or altered: copy it again")


def _add(store: Store, locks: Locks, entry: BundleEntry, payload: bytes) -> str:
    """Add one entry and return its outcome: "added", "merged", "known" or "dropped"."""
    if entry.suffix not in _MERGED:
        if store.get(entry.key) is not None:
            return "known"
        return _put(store, entry.key, payload, entry.suffix, "added")
    if (history := History.from_bytes(payload)) is not None:
        return _add_jobs(store, history)
    with locks.single_flight(entry.key, 5.0):
        mine = store.get(entry.key)
        merged, suffix = _merged(mine, payload, entry.suffix)
        if merged == mine:
            return "known"
        return _put(store, entry.key, merged, suffix, "added" if mine is None else "merged")


def _add_jobs(store: Store, history: History) -> str:
    """Add the jobs that store does not know of, each in a place that is free there."""
    known = {job.key for job in read_history(store.layers[0], history.kernel).jobs}
    new = [job for job in history.jobs if job.key not in known]
    if not new:
        return "known"
    kept = [add_job(store, history.kernel, job) for job in new]
    return "added" if all(kept) else "dropped"


def _put(store: Store, key: str, data: bytes, suffix: str, done: str) -> str:
    """Put data and return done, or "dropped" if the store did not keep it."""
    store.put(key, data, suffix=suffix)
    return done if store.get(key) == data else "dropped"


def _merged(mine: bytes | None, theirs: bytes, suffix: str) -> tuple[bytes, str]:
    """Return a manifest of both, with mine as the newer; mine alone if they are not of a kind."""
    if mine is None:
        return theirs, suffix
    known, manifest = Manifest.from_bytes(mine), Manifest.from_bytes(theirs)
    if not known.shapes or not manifest.shapes:
        return mine, suffix
    both = manifest.with_newer(known)
    return both.to_bytes(), both.suffix
