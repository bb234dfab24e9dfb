"""RECORD: the files that an installer listed beside a distribution, with digests of their contents.

Installations of one wheel have the same contents, and files written at other times. So the contents count: of a file
that was written with its record, by the digest there; of any other file, by the digest of its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from gridjit.base.digests import sha256
from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.source.files import read_regular

# How long before its record an installer writes a file, at most.
_INSTALLING_NS = 60_000_000_000
_SECOND_NS = 1_000_000_000
# The most bytes that are read of a file which was not written with its record; larger files count by their times.
_MOST_BYTES = 8 << 20

# The digest and the size of a file, as its record writes them.
Row = tuple[str, str]
# A file's name from the distribution's folder on, the time at which it was written in nanoseconds, and its size.
Stamp = tuple[str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """The rows of a record that have a digest, by name, and the times between which the installer wrote the files."""

    rows: Mapping[str, Row]
    began: int
    ended: int

    def parts(self, package: str = "") -> Iterator[str]:
        """Yield each listed file below a folder with its digest, but no file that installers make themselves."""
        yield from sorted(f"{name} {digest}" for name, (digest, _) in self.rows.items() if _counts(name, package))

    def changed(self, site: str, files: Iterable[Stamp]) -> Iterator[str]:
        """Yield each file that is not as the record lists it, with a digest of its bytes. site: the files' folder."""
        for name, written, size in files:
            row = self.rows.get(name, ("", ""))
            if row[1] == str(size) and self.began <= written <= self.ended:
                continue
            digest = _digest(os.path.join(site, name)) if size <= _MOST_BYTES else f"{written} {size}"
            if digest != row[0]:
                yield f"{name} {digest}"


def read_record(metadata: str) -> InstallRecord | None:
    """Return the record in a distribution's folder of metadata; None if there is none that can be read."""
    path = os.path.join(metadata, "RECORD")
    try:
        text, ended = read_regular(path).decode(errors="replace"), os.stat(path).st_mtime_ns
    except (OSError, ValueError) as error:
        let_through(error)
        return None
    # Archives keep whole seconds: a file of the record's own second may have been written after it.
    before = ended if ended % _SECOND_NS else ended - 1
    return InstallRecord(rows=dict(_rows(text)), began=ended - _INSTALLING_NS, ended=before)


def _rows(text: str) -> Iterator[tuple[str, Row]]:
    for line in text.splitlines():
        if ",sha256=" in line:
            _, digest, size = line.rsplit(",", 2)
            yield listed_name(line), (digest, size)


def listed_name(line: str) -> str:
    """Return the file that a line of a record names, in quotes if its name has a comma or a quote."""
    return line[1:].partition('",')[0].replace('""', '"') if line[:1] == '"' else line.partition(",")[0]


def is_made(name: str) -> bool:
    """Return whether installing or importing makes a file."""
    return "__pycache__" in name or ".dist-info" in name or ".egg-info" in name


def _counts(name: str, package: str) -> bool:
    """Return whether a listed file is a package's: scripts name the interpreter, and metadata the wheel's origin."""
    return name.startswith(package) and not (name.startswith("../") or is_made(name))


def _digest(path: str) -> str:
    """Return the digest of a file's bytes as a record writes it, or that the file cannot be read."""
    from base64 import urlsafe_b64encode

    try:
        data = read_regular(path)
    except (OSError, ValueError) as error:
        let_through(error)
        return "unreadable"
    return f"sha256={urlsafe_b64encode(sha256(data)).decode().rstrip('=')}"
