"""Headers: the user's headers that a CUDA C++ file includes, found as NVRTC would find them, each read once.

The toolkit's own headers are not looked for: its version stands for them, and a name that is found nowhere is theirs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from gridjit.base.values import dataclass
from gridjit.compiler.key.includes import ComputedInclude, Include, Includes, includes
from gridjit.compiler.key.numba_settings import extra_include_directories
from gridjit.compiler.source.files import read_regular
from gridjit.compiler.values.errors import LinkError
from gridjit.compiler.values.target import Header, LinkedFile

_Read = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderPlace:
    """Where a header may be: its path; beside: whether in a folder that comes before the toolkit's."""

    path: str
    beside: bool


def with_headers(file: LinkedFile) -> LinkedFile:
    """Return a CUDA C++ file with the headers that its text includes, read now.

    absent: paths without a file: a later compile may include a file that appears there.
    """
    file = replace(file, folders=extra_include_directories())
    found, absent = collect(file, (), read_header)
    headers = tuple(Header(path=path, data=found[path]) for path in sorted(found))
    return replace(file, headers=headers, absent=tuple(sorted(absent)))


def with_header(file: LinkedFile, path: str, absent: Iterable[str] = ()) -> LinkedFile:
    """Return file with one more header, which only its compiler could find, and with the headers that it includes."""
    known = {header.path: header.data for header in file.headers}

    def read(path: str) -> bytes | None:
        return known[path] if path in known else read_header(path)

    found, missing = collect(file, (path,), read)
    headers = tuple(Header(path=path, data=data) for path, data in sorted({**found, **known}.items()))
    return replace(file, headers=headers, absent=tuple(sorted({*file.absent, *missing, *absent} - found.keys())))


def collect(file: LinkedFile, also: Iterable[str], read: _Read) -> tuple[dict[str, bytes], set[str]]:
    """Return the headers that file and the paths also include, directly or not; and paths without a file."""
    texts: dict[str, bytes | None] = {file.name: file.data}
    scanned: dict[str, Includes] = {}

    def there(path: str) -> bool:
        if path not in texts:
            texts[path] = read(path)
        return texts[path] is not None

    waiting = [file.name, *filter(there, also)]
    while waiting:
        while waiting:
            if (path := waiting.pop()) not in scanned:
                scanned[path] = includes(texts[path] or b"")
                waiting += _followed(file, scanned[path].references, path, there)
        # A macro's value is known once every file that may define it is read.
        for path, scan in scanned.items():
            named = _followed(file, _through_macros(scan, scanned.values()), path, there)
            waiting += (header for header in named if header not in scanned)
    absent = {path for path, data in texts.items() if data is None}
    return {path: data for path, data in texts.items() if data is not None and path != file.name}, absent


def _followed(file: LinkedFile, named: Iterable[Include], includer: str, there: Callable[[str], bool]) -> Iterator[str]:
    """Yield the header of each name in a file: the first path with a file."""
    for reference in named:
        for place in places(file, reference, includer):
            if there(place.path):
                yield place.path
                break


def _through_macros(scan: Includes, scans: Iterable[Includes]) -> Iterator[Include]:
    """Yield the files that a text names through macros. scans: of all files that may define the macros."""
    for computed in scan.computed:
        yield from (reference(computed, name) for name in expansions(computed, scans) or ())


def expansions(computed: ComputedInclude, scans: Iterable[Includes]) -> tuple[str, ...] | None:
    """Return the names, with their quotes, that the macro in computed may stand for; None if that is unknown."""
    bodies = {body for scan in scans for name, body in scan.macros if name == computed.operand}
    return tuple(sorted(bodies)) if bodies and all(bodies) else None


def reference(computed: ComputedInclude, name: str) -> Include:
    """Return computed as if its text were name, which is in quotes or brackets."""
    return Include(
        start=computed.start,
        end=computed.end,
        name=name[1:-1],
        quoted=name.startswith('"'),
        query=computed.query,
        following=computed.following,
    )


def places(file: LinkedFile, named: Include, includer: str) -> Iterator[HeaderPlace]:
    """Yield the places of a name in the file includer, in the order in which NVRTC looks.

    Beside the file that names it in quotes, then in the linked file's folder; extra folders come last, after the
    toolkit's. Code in memory has no folder, wherever the process runs.
    """
    if named.name.startswith("/"):
        yield HeaderPlace(path=os.path.normpath(named.name), beside=True)
        return
    own = ((os.path.dirname(file.name), True),) if file.name.startswith("/") else ()
    folders = (*own, *((folder, False) for folder in file.folders))
    if named.following:
        searched = [os.path.normpath(f"{folder.rstrip('/')}/{named.name}") for folder, _ in folders]
        folders = folders[searched.index(includer) + 1 :] if includer in searched else folders
    elif named.quoted and includer.startswith("/"):
        folders = ((os.path.dirname(includer), True), *folders)
    for folder, beside in folders:
        yield HeaderPlace(path=os.path.normpath(f"{folder.rstrip('/')}/{named.name}"), beside=beside)


def unseen(file: LinkedFile) -> tuple[str, ...]:
    """Return why code made of file cannot be stored: each place that reads more than a key or a record can hold."""
    scanned = scans_of(file)
    reasons = [f"{path}:{line}: {what}" for path, scan in scanned.items() for line, what in scan.unseen]
    reasons += [
        f"{path}:{computed.line}: __has_include({computed.operand}) asks for a file that only the preprocessor can name"
        for path, computed in open_queries(scanned)
    ]
    return tuple(reasons)


def open_queries(scanned: Mapping[str, Includes]) -> list[tuple[str, ComputedInclude]]:
    """Return the queries, with their files, that cannot be told before the compile."""
    return [
        (path, computed)
        for path, scan in scanned.items()
        for computed in scan.computed
        if computed.query and expansions(computed, scanned.values()) is None
    ]


def scans_of(file: LinkedFile) -> dict[str, Includes]:
    """Return the includes of file and of its headers, by their paths."""
    return {file.name: includes(file.data), **{header.path: includes(header.data) for header in file.headers}}


def look(file: LinkedFile, name: str, includer: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the header of a macro's name in the file includer, and the paths without a file; None if it is nowhere.

    NVRTC is given one header of a name, and does not say whether it was in quotes. Raises LinkError if the quotes, or
    the file whose macro names it, make a difference.
    """
    known = {file.name, *(header.path for header in file.headers)}
    includers = {includer, *(path for path, scan in scans_of(file).items() if scan.computed)}
    found: set[str] = set()
    absent: dict[str, None] = {}
    for path in sorted(includers):
        for quoted in (True, False):
            for place in places(file, Include(start=0, end=0, name=name, quoted=quoted), path):
                if place.path in known or read_header(place.path) is not None:
                    found.add(place.path)
                    break
                absent[place.path] = None
    if len(found) > 1:
        raise ambiguous(includer, name, found)
    return (found.pop(), tuple(absent)) if found else None


def ambiguous(includer: str, name: str, found: Iterable[str]) -> LinkError:
    """Return the error of a name, made by macros, that stands for several headers."""
    told = f"{includer}: {name!r}, which macros make, may be {' or '.join(sorted(found))}"
    return LinkError(f"{told}; include them by their names in quotes")


def read_header(path: str) -> bytes | None:
    """Return the bytes of a header, or None where there is none: nothing, or nothing that is a regular file."""
    try:
        return read_regular(path)
    except (OSError, ValueError):
        return None
