"""Setting files: the user's gridjit.toml, and [tool.gridjit] of a project's pyproject.toml.

A file is read as far as nobody else could have written it: a project's file and its folder are this user's or root's,
and others cannot write the file; neither can a group write the user's file, which may choose code that runs.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.cache.folder import Distrusted, distrust, distrust_owner, read_apart
from gridjit.compiler.values.errors import ConfigError

_HEADER = re.compile(r"""^[ \t]*\[[ \t]*["']?tool["']?[ \t]*\.[ \t]*["']?gridjit["']?[ \t]*\]""", re.M)


_MOST_BYTES = 1 << 20


class UnreadError(Exception):
    """A file is not read, and why: "belongs to ..."."""


def table_of(path: str, *, is_project: bool) -> tuple[dict[str, Any], Callable[[str], str]]:
    """Return a file's settings, and a function that returns the line of a name, ", line 3", if it is found.

    Raises UnreadError for a file that must not or cannot be read, and ConfigError for a file that is not TOML.
    """
    data = _data(path, is_project)
    try:
        text = data.decode()
        table: Any = _loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    start = 0
    if is_project:
        table = table.get("tool", {})
        table = table.get("gridjit", {}) if isinstance(table, dict) else {}
        start = found.end() if (found := _HEADER.search(text)) else 0
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.gridjit is not a table: write [tool.gridjit], and a line for each setting")
    return table, lambda name: _line(name, text, start)


def _data(path: str, is_project: bool) -> bytes:
    try:
        if is_project and (reason := distrust_owner(os.stat(os.path.dirname(path)))) is not None:
            raise UnreadError(f"is in a folder that {reason}")
        data = read_apart(path, _MOST_BYTES + 1, _distrust_project if is_project else distrust)
    except Distrusted as error:
        raise UnreadError(error.reason) from None
    except OSError as error:
        let_through(error)
        raise UnreadError(f"cannot be read ({error.strerror})") from None
    if len(data) > _MOST_BYTES:
        raise UnreadError(f"has more than {_MOST_BYTES} bytes")
    return data


def _distrust_project(found: os.stat_result) -> str | None:
    """Return why a project's file must not be read, or None. A group that shares a checkout may write it."""
    if (reason := distrust_owner(found)) is None and found.st_mode & stat.S_IWOTH:
        return f"can be written by all users (mode {stat.S_IMODE(found.st_mode):o})"
    return reason


def _loads(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _line(name: str, text: str, start: int) -> str:
    pattern = rf"""^[ \t]*(?:tool[ \t]*\.[ \t]*gridjit[ \t]*\.[ \t]*)?["']?{re.escape(name)}["']?[ \t]*="""
    found = re.compile(pattern, re.M).search(text, start)
    return f", line {text.count(chr(10), 0, found.start()) + 1}" if found else ""
