"""Installed extensions: the modules that numba loads through entry points before its first compile.

A process that only looks a kernel up imports neither numba nor extensions, and needs the key of a process that
compiles: it finds extensions by reading small files, and their registrations in the cache (see everybody).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from gridjit.base.digests import utf8
from gridjit.base.values import dataclass
from gridjit.compiler.key.record import read_record
from gridjit.compiler.key.site_folders import described_by, descriptions, first_look, normalized
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.files import import_path, read_regular

# The groups of entry points that numba and numba-cuda load, and the name they look for.
GROUPS = ("numba_extensions", "numba_cuda_extensions")
NAME = "init"
_FILE = "entry_points.txt"
_WORKING_COPY = rb'"editable"\s*:\s*true'

_Installed: TypeAlias = tuple[tuple[str, str, str], ...]

# Follows the digest of an installation whose files are somebody's working copy.
_EDITABLE = " editable"
# The extensions that were installed when numba loaded them; empty before that.
_loaded: list[_Installed] = []


def installed_extensions(
    paths: Sequence[str], described_in: Callable[[str], Iterable[str]] = descriptions
) -> _Installed:
    """Return (distribution, version, module:function) of each extension that numba would load from these folders.

    described_in: returns the metadata folders of the distributions in a folder. Of several distributions of one name,
    the first counts, as for Python's own importlib.metadata. The version is followed by a digest of the list of the
    distribution's files, so that a rebuilt distribution counts as another.
    """
    found: list[tuple[str, str, str]] = []
    folders = [f"{path or '.'}/{name}" for path in paths if isinstance(path, str) for name in described_in(path)]
    if any(extending := [_extensions_in(f"{folder}/{_FILE}") for folder in folders]):
        for (name, version), (folder, modules) in _first_of_each_name(zip(folders, extending, strict=True)).items():
            found += [(name, f"{version} {_identity(folder)}", module) for module in modules]
    if any(os.path.isfile(path) for path in paths if isinstance(path, str)):
        found += (one for one in _in_archives() if one[0] not in {name for name, _, _ in found})
    return tuple(found)


def current_extensions() -> _Installed:
    """Return the extensions that are loaded or, before that, would be."""
    return _loaded[0] if _loaded else _looked_up(import_path())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingCopy:
    """An editable installation of an extension: its name, version, folder of metadata, and its package's folder.

    package: a file, if the extension is a module outside packages.
    """

    name: str
    version: str
    metadata: str
    package: str


def working_copies() -> tuple[WorkingCopy, ...]:
    """Return the editable installations among the extensions, which count by the files of their packages."""
    editable = any(version.endswith(_EDITABLE) for _, version, _ in current_extensions())
    return _copies(import_path()) if editable else ()


def is_editable_origin(origin: bytes) -> bool:
    """Return whether a distribution's direct_url.json says that its files are somebody's working copy."""
    if b"editable" not in origin:  # most have no such file
        return False
    import re

    return re.search(_WORKING_COPY, origin) is not None


def note_loaded() -> _Installed:
    """Return the extensions installed now, just before numba loads them; later calls return the same."""
    if not _loaded:
        _loaded.append(installed_extensions(import_path()))
    return _loaded[0]


@functools.lru_cache(maxsize=4)
def _looked_up(paths: tuple[str, ...]) -> _Installed:
    return installed_extensions(paths, first_look(paths).__getitem__)


@functools.lru_cache(maxsize=4)
def _copies(paths: tuple[str, ...]) -> tuple[WorkingCopy, ...]:
    folders = [f"{path or '.'}/{name}" for path in paths for name in descriptions(path)]
    described = ((folder, _extensions_in(f"{folder}/{_FILE}")) for folder in folders)
    return tuple(
        WorkingCopy(name=name, version=version, metadata=folder, package=package)
        for (name, version), (folder, modules) in _first_of_each_name(described).items()
        if _is_working_copy(folder)
        for package in dict.fromkeys(map(_package_of, modules))
        if package
    )


def _package_of(entry: str) -> str:
    """Return the folder of an entry's outermost package, or its file; "" if there is none.

    entry: "module:function". Only namespace packages, which have no code of their own, are imported.
    """
    import importlib.util

    parts = entry.partition(":")[0].split(".")
    for count in range(1, len(parts) + 1):
        try:
            found = importlib.util.find_spec(".".join(parts[:count]))
        except (ImportError, ValueError, AttributeError):
            return ""
        if found is not None and found.has_location and found.origin:
            return found.origin if found.submodule_search_locations is None else os.path.dirname(found.origin)
    return ""


def _is_working_copy(folder: str) -> bool:
    return folder.endswith(".egg-info") or is_editable_origin(_read(os.path.join(folder, "direct_url.json")))


def _first_of_each_name(described: Iterable[tuple[str, list[str]]]) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Return, by name and version, the folders and modules of distributions that none of the same name precedes."""
    seen: set[str] = set()
    first = {}
    for folder, modules in described:
        if (named := described_by(os.path.basename(folder))) is not None:
            if named[0] not in seen:
                first[named] = (folder, modules)
            seen.add(named[0])
    return first


def _extensions_in(path: str) -> list[str]:
    """Return "module:function" of each entry that numba loads, in the order of the groups."""
    if not os.access(path, os.F_OK):  # most have none: looking costs a third of trying to open
        return []
    data = _read(path)
    if b"_extensions" not in data:
        return []
    entries = list(_entries(data.decode(errors="replace")))
    return [value for wanted in GROUPS for group, name, value in entries if (group, name) == (wanted, NAME)]


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and value of each line of a description of entry points."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield group, name.strip(), value.partition("[")[0].strip()


def _identity(path: str) -> str:
    """Return a digest of the files that an installation brought, by its record; a working copy's has its origin."""
    record = read_record(path)
    files = [utf8(part) for part in record.parts()] if record is not None else []
    if not _is_working_copy(path):
        return digest_fields(files)
    return digest_fields((*files, _read(os.path.join(path, "direct_url.json")))) + _EDITABLE


def _read(path: str) -> bytes:
    """Return a file's bytes; none if the file is missing."""
    try:
        return read_regular(path)
    except (OSError, ValueError):
        return b""


def _in_archives() -> Iterator[tuple[str, str, str]]:
    """Yield all extensions, also from zip files, which only importlib.metadata reads; it takes ten times as long."""
    from importlib.metadata import entry_points

    for group in GROUPS:
        for one in entry_points(group=group, name=NAME):
            if one.dist is not None:
                yield normalized(one.dist.name), one.dist.version, one.value
