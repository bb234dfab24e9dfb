"""linkable: the files that functions called by a kernel brought along, as cuda.declare_device(link=...) has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gridjit.compiler.linked_files import read_linked
from gridjit.compiler.targets.base import LinkedFile


def discovered_files(library: Any, known: Iterable[LinkedFile]) -> tuple[LinkedFile, ...]:
    """Return the files to link with one of numba-cuda's code libraries, in a fixed order, less those that are known."""
    found = (read_linked(given) for given in library._linking_files)
    new = {(file.name, file.kind, file.data): file for file in found if file not in set(known)}
    return tuple(new[key] for key in sorted(new))
