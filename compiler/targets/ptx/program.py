"""Program: NVRTC's input for a CUDA C++ file - the bytes that were read, without access to the user's other files.

NVRTC looks beside the including file, in the current folder, and wherever a path points. So the file and its headers
get names under /dev/null, where no file can exist, each include names its header there, and the only folders that NVRTC
searches are the toolkit's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from gridjit.base.values import dataclass
from gridjit.compiler.key.headers import ambiguous, expansions, open_queries, places, reference, scans_of
from gridjit.compiler.key.includes import Include, Includes
from gridjit.compiler.key.linked_files import digest, shown_path
from gridjit.compiler.values.target import LinkedFile

# NVRTC's names for given files are under the first, names of missing files under the second.
NOWHERE, MISSING = "/dev/null/", "/dev/null/missing/"
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A file for NVRTC: its name and text; headers: (name by which they are included, text).

    shown: each file's name in messages -> its path. folders: of the user, open to NVRTC where it alone can tell the
    file that is asked for. computed: whether macros name included files, and not only by known names.
    """

    name: str
    text: bytes
    headers: tuple[tuple[str, bytes], ...]
    shown: Mapping[str, str]
    folders: tuple[str, ...]
    computed: bool


def program(file: LinkedFile, toolkit: Sequence[str], aliases: Mapping[str, str], *, paths: bool) -> Program:
    """Return file for NVRTC.

    toolkit: folders of its headers. aliases: names that macros made -> their headers. paths: whether the code has whole
    paths, for debuggers; else it has the key's names.
    """
    if file.toolkit:
        return Program(name=file.name, text=file.data, headers=(), shown={}, folders=(), computed=False)
    scanned = scans_of(file)
    texts = {file.name: file.data, **{header.path: header.data for header in file.headers}}
    shown = {path: path if paths else _shown(file, path) for path in texts}
    given = {path: _rewritten(file, path, texts[path], scanned, shown, toolkit) for path in texts}
    aliases = {**_known_aliases(file, scanned, toolkit), **aliases}
    forwarded = ((name, b"#include " + _quoted(shown[path]) + b"\n") for name, path in sorted(aliases.items()))
    own = (os.path.dirname(file.name),) if os.path.isabs(file.name) else ()
    return Program(
        name=_name(shown[file.name]),
        text=given[file.name],
        headers=(*((_name(shown[path]), text) for path, text in given.items()), *forwarded),
        shown={name: path for path, name in shown.items()},
        folders=(*own, *file.folders) if open_queries(scanned) else (),
        computed=any(expansions(one, scanned.values()) is None for scan in scanned.values() for one in scan.computed),
    )


def legible(text: str) -> str:
    """Return NVRTC's messages with the files called as their user does."""
    return text.replace(MISSING, "").replace(NOWHERE, "")


def _shown(file: LinkedFile, path: str) -> str:
    return os.path.basename(path) if path == file.name else shown_path(file, path)


def _name(shown: str) -> str:
    """Return the name that NVRTC is given for a file; none that leads out of nowhere, or that it could not read."""
    plain = _is_plain(shown.lstrip("/")) and not {'"', "\n", "\r"} & set(shown)
    return NOWHERE + (shown if plain else digest(os.fsencode(shown)))


def _quoted(shown: str) -> bytes:
    return b'"' + os.fsencode(_name(shown)) + b'"'


def _rewritten(
    file: LinkedFile,
    path: str,
    text: bytes,
    scanned: Mapping[str, Includes],
    shown: Mapping[str, str],
    toolkit: Sequence[str],
) -> bytes:
    """Return a file's text with each name replaced by its header's shown name, line by line as it was."""
    made, position = [_first_line(shown[path])], len(_MARK) if text.startswith(_MARK) else 0
    for named in sorted(_certain(scanned[path], scanned.values()), key=lambda one: one.start):
        if (stands := _stands_for(file, named, path, shown, toolkit)) is not None:
            lines = b"\\\n" * text.count(b"\n", named.start, named.end)
            made += [text[position : named.start], stands, lines]
            position = named.end
    return b"".join((*made, text[position:]))


def _first_line(shown: str) -> bytes:
    """Return the #line directive that gives messages, __FILE__ and debug information the user's name of the file."""
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return b'#line 1 "' + os.fsencode(escaped) + b'"\n'


def _certain(scan: Includes, scans: Iterable[Includes]) -> list[Include]:
    """Return the includes that a text names with certainty: itself, or through a macro that is always one name."""
    known = list(scans)
    return [
        *scan.references,
        *(reference(one, names[0]) for one in scan.computed if len(names := expansions(one, known) or ()) == 1),
    ]


def _stands_for(
    file: LinkedFile, named: Include, path: str, shown: Mapping[str, str], toolkit: Sequence[str]
) -> bytes | None:
    """Return the text to write for a named header; None to leave it, as the toolkit's headers decide."""
    found = _found(file, named, path, shown, toolkit)
    if found is not None:
        return b" 1 " if named.query else (b"include " if named.following else b" ") + _quoted(shown[found])
    if _is_plain(named.name) or any(_holds(folder, named.name) for folder in toolkit):
        # Beside a wrapper of a header of the toolkit's, nothing follows but that.
        return b"include <" + os.fsencode(named.name) + b">" if named.following and not named.query else None
    # It would be looked for where the name points, and may be there by then.
    return b" 0 " if named.query else b' "' + os.fsencode(MISSING + named.name) + b'"'


def _found(file: LinkedFile, named: Include, path: str, shown: Mapping[str, str], toolkit: Sequence[str]) -> str | None:
    """Return the path of the header that is named, or None if it is the toolkit's or there was none."""
    for place in places(file, named, path):
        if not place.beside and any(_holds(folder, named.name) for folder in toolkit):
            return None
        if place.path in shown:
            return place.path
    return None


def _is_plain(name: str) -> bool:
    """Return whether a name can only be found in a folder that is searched."""
    return not os.path.isabs(name) and ".." not in name.split("/")


def _holds(folder: str, name: str) -> bool:
    """Return whether one of the toolkit's folders has a header, in itself."""
    path = os.path.normpath(os.path.join(folder, name))
    return path.startswith(os.path.join(folder, "")) and os.path.isfile(path)


def _known_aliases(file: LinkedFile, scanned: Mapping[str, Includes], toolkit: Sequence[str]) -> dict[str, str]:
    """Return the headers whose names macros are known to stand for, one or the other, as they spell them."""
    known = {file.name: "", **{header.path: "" for header in file.headers}}
    made: dict[str, str] = {}
    for path, scan in scanned.items():
        for one in scan.computed:
            names = expansions(one, scanned.values()) or ()
            for named in (reference(one, name) for name in names if len(names) > 1):
                found = _found(file, named, path, known, toolkit)
                if found is not None and made.setdefault(named.name, found) != found:
                    raise ambiguous(path, named.name, {found, made[named.name]})
    return made
