"""sign_entries: a folder's unsigned entries get the signature of a key, in the place of their checksum.

An entry that is damaged, or signed with a key that is not given, is refused and left as it is. Sizes and times stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.cache import files
from gridjit.cache.entry import open_entry, seal, why_refused
from gridjit.cache.errors import CacheError
from gridjit.cache.folder import Folder
from gridjit.cache.lock import Locks
from gridjit.cache.store import EntryInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """The result of signing: numbers of entries signed now and before, and the names of the others with reasons."""

    signed: int
    known: int
    refused: tuple[tuple[str, str], ...]


def sign_entries(
    folder: Folder, secret: bytes, *, old: Sequence[bytes] = (), each: Callable[[str], object] = str
) -> Signed:
    """Sign a folder's entries with secret; raises CacheError if one cannot be written.

    old: secrets whose entries are signed anew. each: called with the key of each entry before it is read.
    """
    counts, refused = {"signed": 0, "known": 0}, list[tuple[str, str]]()
    locks = Locks(folder.path, allow_shared=folder.shared)
    for info in files.list_files(folder, lambda error: refused.append((folder.path, f"is used only in part: {error}"))):
        each(info.key)
        # Whoever adds to a manifest holds this lock, too.
        with locks.single_flight(info.key, 5.0):
            outcome = _signed(folder, info, secret, old)
        if outcome in counts:
            counts[outcome] += 1
        elif outcome:
            refused.append((info.key + info.suffix, outcome))
    return Signed(**counts, refused=tuple(refused))


def _signed(folder: Folder, info: EntryInfo, secret: bytes, old: Sequence[bytes]) -> str:
    """Sign an entry; return "signed", "known", why it was refused, or "" for an entry that is gone."""
    try:
        data = files.read_file(folder, info.key, info.suffix, max(info.size, files.MOST_BYTES))
    except (OSError, MemoryError) as error:
        let_through(error)
        return f"cannot be read ({error})"
    if data is None:
        return ""
    if open_entry(info.key, data, secret=secret) is not None:
        return "known"
    for before in (None, *old):
        if (payload := open_entry(info.key, data, secret=before)) is not None:
            try:
                sealed = seal(info.key, payload, secret=secret)
                files.write_file(folder, info.key, info.suffix, sealed, stored=info.stored)
            except OSError as error:
                let_through(error)
                raise CacheError(f"cache folder {folder.path} cannot be written: {error.strerror or error}") from None
            return "signed"
    return why_refused(info.key, data, secret=secret)
