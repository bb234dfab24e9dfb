"""Site folders: the metadata folders of the distributions in a folder of sys.path, listed once for everyone who asks.

A folder is listed again if an entry was added or removed since, and always if it was changed a moment ago. Also the
normalized form of distributions' names, and the name and version in a metadata folder's name.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping

# A folder changed twice within one tick of the clock keeps its time stamp.
_SETTLED_NS = 2_000_000_000
_KINDS = (".dist-info", ".egg-info")

_Stamp = tuple[int, int, int, int]
_listed: dict[str, tuple[_Stamp, tuple[str, ...]]] = {}


def descriptions(folder: str) -> tuple[str, ...]:
    """Return the names of the folders and files in folder that describe distributions, sorted; () if it is none.

    They end in "-info": `numba-0.61.0.dist-info`, `mine.egg-info`. folder: "" is the current one, as on sys.path.
    """
    try:
        status = os.stat(folder or ".")
        stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
        known = _listed.get(folder)
        if known is not None and known[0] == stamp:
            return known[1]
        names = tuple(sorted([name for name in os.listdir(folder or ".") if name.endswith("-info")]))
    except (OSError, ValueError):  # ValueError: a name that no folder can have
        return ()
    if time.time_ns() - status.st_ctime_ns > _SETTLED_NS:
        _listed[folder] = stamp, names
    return names


@functools.lru_cache(maxsize=4)
def first_look(paths: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the descriptions in each folder of an import path ("" is the current one), as they were when first asked.

    For questions about the start of the process: a folder that others change all the time is listed once.
    """
    return {path: descriptions(path) for path in paths}


# Without patterns: to compile one costs a warm start as much as to list the folders.
def normalized(name: str) -> str:
    """Return a distribution's name as all spellings of it are compared: "numba-cuda" for "Numba_CUDA"."""
    name = name.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def described_by(folder: str) -> tuple[str, str] | None:
    """Return the normalized name and the version ("" if it has none) that a folder of metadata is named after.

    folder: "numba_cuda-0.20.dist-info", without the folder that it is in. None for another form of name.
    """
    described, dot, kind = folder.rpartition(".")
    if not described or dot + kind not in _KINDS:
        return None
    name, _, version = described.rpartition("-")
    before, _, older = name.rpartition("-")
    if before and older and _is_a_python(version):
        name, version = before, older
    return (normalized(name), version) if name and version else (normalized(described), "")


def _is_a_python(part: str) -> bool:
    """Return whether part of a name says for which Python it is, as installers did before wheels: "py3.11"."""
    return part.startswith("py") and part != "py" and not part[2:].strip("0123456789.")
