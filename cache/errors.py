"""Errors of the cache: a warning for faults of the disk, an exception for mistakes of callers."""

from __future__ import annotations

from gridjit.base import messages


class CacheWarning(UserWarning):
    """The cache cannot be used as asked; work goes on without it."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


class CacheError(Exception):
    """The cache was asked for something that has no meaning: a name, suffix or value that cannot be stored."""


def warn(message: str) -> None:
    """Issue a CacheWarning; where warnings are errors, log it instead, for it must neither end a launch nor be lost."""
    from gridjit.base.printable import printable  # most processes have nothing to warn of

    messages.warn_or_log(CacheWarning(printable(message)), logger="gridjit.cache")


def way_to_install(extra: str) -> str:
    """Return the command that installs the libraries of one of gridjit's extras: it is not on the package index."""
    return f"pip install '.[{extra}]' in a checkout of gridjit"
