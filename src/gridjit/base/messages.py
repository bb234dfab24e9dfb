"""messages: warnings, and lines that the user asked for. A message may be lost; a launch may not.

Warnings name the user's line. Other messages go to the logger `gridjit` if the program listens to it; `logging` is
imported here only for a warning that would otherwise be lost.

Standard error can be closed, a broken pipe, or None (daemons, pythonw), and the program may have its own way to show
warnings.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

from gridjit.base.forking import section

# Levels of `logging`: for compiled, and for found code.
INFO, DEBUG = 20, 10
# Packages with code between a user's line and a warning: ours, our callees, and our callers back.
_NOT_THE_USERS = {"gridjit", "numba", "numba_cuda", "llvmlite", "diskcache", "contextlib", "functools", "importlib"}


def warn(warning: Warning) -> None:
    """Issue a warning at the user's line; raises it where the user has made it an error, and nothing else."""
    with section():
        try:
            _issue(warning, users_frame())
        except type(warning):
            raise
        except Exception:  # it could not be shown
            return


def warn_or_log(warning: Warning, *, logger: str) -> None:
    """Issue a warning; where warnings are errors, log it instead, for it must neither end a launch nor be lost."""
    try:
        warn(warning)
    except type(warning):
        import logging

        # Without a handler this comes out on standard error. A handler that fails loses it: better than the launch.
        with section(), contextlib.suppress(Exception):
            logging.getLogger(logger).warning("%s: %s", type(warning).__name__, warning)


def users_frame() -> FrameType:
    """Return the frame of the user's line that led here: the innermost that is of no library below; else the first."""
    found = sys._getframe(1)
    while _is_between(found) and found.f_back is not None:
        found = found.f_back
    return found


def _is_between(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in _NOT_THE_USERS


def _issue(warning: Warning, frame: FrameType) -> None:
    """Issue a warning as warnings.warn does, which counts frames differently where modules are imported."""
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    name = frame.f_globals.get("__name__") or "<unknown>"
    warnings.warn_explicit(
        warning, type(warning), frame.f_code.co_filename, frame.f_lineno, module=name, registry=registry
    )


def report(message: Callable[[], str], *, level: int, shown: bool) -> None:
    """Log a message, if the program listens at this level, and write it on standard error if it is to be shown.

    It appears on standard error once, also where the program's own logging writes there.
    """
    heard = _listening(level)
    if heard is None and not shown:
        return
    from gridjit.base.printable import printable

    text = printable(message())
    if heard is not None:
        with section(), contextlib.suppress(Exception):
            heard.log(level, "%s", text)
    if shown and (heard is None or not _writes_on(sys.stderr, heard, level)):
        say(f"gridjit: {text}", sys.stderr)


def _listening(level: int) -> Any:
    """Return the logger of gridjit if messages at a level reach anybody: not where nobody imported logging."""
    # Another thread may be importing it.
    logger_of = getattr(sys.modules.get("logging"), "getLogger", None)
    logger = None if logger_of is None else logger_of("gridjit")
    return logger if logger is not None and logger.isEnabledFor(level) and logger.hasHandlers() else None


def _writes_on(stream: TextIO | None, logger: Any, level: int) -> bool:
    """Return whether a handler of the logger, or of a logger above it, writes on a stream."""
    while logger is not None:
        if any(one.level <= level and getattr(one, "stream", one) is stream for one in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def say(text: str, file: TextIO | None) -> None:
    """Write a line to a stream, if there is one and it can be written to."""
    with section(), contextlib.suppress(Exception):
        if file is not None:
            print(text, file=file)
