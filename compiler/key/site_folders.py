"""Site folders: what describes the distributions in a folder of sys.path, listed once for everyone who asks.

A folder is listed again if anything was put into it or taken out since; one that was changed a moment ago always is.
Also the one form in which distributions' names are compared, and what the folder that describes one is called.
"""

from __future__ import annotations

import os
import re
import time

# A folder changed twice within one tick of the clock keeps its time stamp.
_SETTLED_NS = 2_000_000_000
# Patterns as texts: a warm start that asks for none compiles none.
_SEPARATORS = r"[-_.]+"
_FOLDER = r"(?P<name>.+?)(-(?P<version>[^-]+)(-py[0-9.]+)?)?\.(dist|egg)-info"

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


def normalized(name: str) -> str:
    """Return a distribution's name as all spellings of it are compared: "numba-cuda" for "Numba_CUDA"."""
    return re.sub(_SEPARATORS, "-", name).lower()


def described_by(folder: str) -> tuple[str, str] | None:
    """Return the normalized name and the version ("" if it has none) that a folder of metadata is named after.

    folder: "numba_cuda-0.20.dist-info", without the folder that it is in. None for what is not such a name.
    """
    match = re.fullmatch(_FOLDER, folder)
    return None if match is None else (normalized(match["name"]), match["version"] or "")
