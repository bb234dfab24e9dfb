"""When the cache cannot do as asked: a warning for the disk's faults, an error for the caller's mistakes."""

from __future__ import annotations

import contextlib

from gridjit import messages
from gridjit.printable import printable


class CacheWarning(UserWarning):
    """The cache cannot be used as asked; work goes on without it."""


class CacheError(Exception):
    """The cache was asked for something that has no meaning: a name, suffix or value that cannot be stored."""


def warn(message: str, *, stacklevel: int) -> None:
    """Issue a CacheWarning; where warnings are errors, log it instead, for it must neither end a launch nor be lost."""
    message = printable(message)
    try:
        messages.warn(CacheWarning(message), stacklevel=stacklevel + 1)
    except CacheWarning:
        import logging

        # Without a handler this comes out on standard error. A handler that fails loses it: better than the launch.
        with contextlib.suppress(Exception):
            logging.getLogger("gridjit.cache").warning("CacheWarning: %s", message)
