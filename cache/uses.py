"""Uses: how often the code in a cache folder was found and compiled, and when last, from a file of fixed records.

`files.append_use` adds a record for each specialization that a process finds or compiles. The records are statistics: a
lost one does not change any result, and one that cannot be read is not counted.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator

from gridjit.base.interrupts import tolerated
from gridjit.base.values import dataclass
from gridjit.cache import files
from gridjit.cache.folder import Folder, open_folder, read_below

_RECORD = struct.Struct("<8sIB3x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of an artifact: the first 16 digits of its key, when (seconds since 1970), and whether it was found."""

    key: str
    time: int
    hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UseTotals:
    """Uses added up: how often found and compiled, when first and last (None: never)."""

    hits: int = 0
    compiles: int = 0
    since: int | None = None
    last: int | None = None

    @property
    def rate(self) -> float | None:
        """The share of uses that found their artifact; None if there were no uses."""
        uses = self.hits + self.compiles
        return round(self.hits / uses, 4) if uses else None

    @classmethod
    def of(cls, uses: Iterable[Use]) -> UseTotals:
        """Return the sum of uses."""
        known = list(uses)
        times = [use.time for use in known]
        hits = sum(use.hit for use in known)
        return cls(hits=hits, compiles=len(known) - hits, since=min(times, default=None), last=max(times, default=None))


def read_uses(folder: Folder) -> Iterator[Use]:
    """Yield the uses that are recorded, in the order in which they were; none if the file must not be used."""
    data = b""
    with tolerated(OSError), files.opened(open_folder(folder)) as top:
        data = read_below(folder, top, files.USES, 2 * files.MOST_USES_BYTES) or b""
    for key, time, hit in _RECORD.iter_unpack(data[: len(data) - len(data) % _RECORD.size]):
        yield Use(key=key.hex(), time=time, hit=bool(hit))


def forget_uses(folder: Folder) -> None:
    """Remove the records."""
    with tolerated(OSError), files.opened(open_folder(folder)) as top:
        os.unlink(files.USES, dir_fd=top)


def halve_uses(folder: Folder) -> None:
    """Keep the newer half of the records. Records that are added meanwhile may be lost."""
    with tolerated(OSError), files.opened(open_folder(folder)) as top:
        data = read_below(folder, top, files.USES, 2 * files.MOST_USES_BYTES) or b""
        kept = data[len(data) // 2 // _RECORD.size * _RECORD.size :]
        files.write_beside(top, files.USES, kept)
