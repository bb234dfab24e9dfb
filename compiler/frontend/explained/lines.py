"""lines: the text of a program's files, also of those in a zip file, which only their module's loader can read."""

from __future__ import annotations

import linecache
import os
import sys

from gridjit.compiler.key.source.libraries import file_of


def lines_of(path: str) -> list[str]:
    """Return the lines of a file; none if it is nowhere."""
    if path not in linecache.cache and not os.path.exists(path):
        _ask_loader(path)
    return linecache.getlines(path)


def line_of(path: str, number: int) -> str:
    """Return a line, counted from 1; "" if there is none."""
    lines = lines_of(path)
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _ask_loader(path: str) -> None:
    """Have the loader of the module that was loaded from there be asked for its lines."""
    for module in list(sys.modules.values()):
        if file_of(module) == path:
            linecache.lazycache(path, vars(module))
            return
