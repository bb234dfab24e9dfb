"""messages: warnings, and lines that the user asked for. A message may be lost; a launch may not.

Standard error can be closed, a broken pipe, or None (daemons, pythonw), and what shows warnings can be the user's own.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TextIO

from gridjit.forking import section


def warn(warning: Warning, *, stacklevel: int) -> None:
    """Issue a warning; raises it where the user has made it an error, and nothing else."""
    with section():
        try:
            warnings.warn(warning, stacklevel=stacklevel + 1)
        except type(warning):
            raise
        except Exception:  # it could not be shown
            return


def warn_or_log(warning: Warning, *, logger: str, stacklevel: int) -> None:
    """Issue a warning; where warnings are errors, log it instead, for it must neither end a launch nor be lost."""
    try:
        warn(warning, stacklevel=stacklevel + 1)
    except type(warning):
        import logging

        # Without a handler this comes out on standard error. A handler that fails loses it: better than the launch.
        with section(), contextlib.suppress(Exception):
            logging.getLogger(logger).warning("%s: %s", type(warning).__name__, warning)


def say(text: str, file: TextIO | None) -> None:
    """Write a line to a stream, if there is one and it can be written to."""
    with section(), contextlib.suppress(Exception):
        if file is not None:
            print(text, file=file)
