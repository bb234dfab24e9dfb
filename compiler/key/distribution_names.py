"""Distribution names: the one form in which they are compared, and the name of the folder that describes one."""

from __future__ import annotations

import re

# Patterns as texts: a warm start that asks for none compiles none.
_SEPARATORS = r"[-_.]+"
_FOLDER = r"(?P<name>.+?)(-(?P<version>[^-]+)(-py[0-9.]+)?)?\.(dist|egg)-info"


def normalized(name: str) -> str:
    """Return a distribution's name as all spellings of it are compared: "numba-cuda" for "Numba_CUDA"."""
    return re.sub(_SEPARATORS, "-", name).lower()


def described_by(folder: str) -> tuple[str, str] | None:
    """Return the normalized name and the version ("" if it has none) that a folder of metadata is named after.

    folder: "numba_cuda-0.20.dist-info", without the folder that it is in. None for what is not such a name.
    """
    match = re.fullmatch(_FOLDER, folder)
    return None if match is None else (normalized(match["name"]), match["version"] or "")
