"""When the cache cannot do as asked: a warning for the disk's faults, an error for the caller's mistakes."""

from __future__ import annotations


class CacheWarning(UserWarning):
    """The cache cannot be used as asked; work goes on without it."""


class CacheError(Exception):
    """The cache was asked for something that has no meaning: a name, suffix or value that cannot be stored."""
