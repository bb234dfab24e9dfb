"""How the command line prints: lines, readable sizes and ages, JSON for scripts.

All that a command prints goes through here, so that no name from a cache can do anything to a terminal.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

from gridjit.base.printable import lines, printable
from gridjit.compiler.values.errors import GridjitError

_SIZES = ("B", "KiB", "MiB", "GiB")
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def say(line: str, *, error: bool = False) -> None:
    """Print a line, on standard error if it is of an error."""
    _write(printable(line), error)


def say_lines(text: str, *, error: bool = False) -> None:
    """Print a text of several lines."""
    _write(lines(text), error)


def show_warnings_as_lines() -> None:
    """Print warnings that name the command's own line, not a user's, as errors are printed: in one line."""
    shown = warnings.showwarning
    own = getattr(sys.modules["__main__"], "__file__", None)

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if filename == own:
            say_lines(f"gridjit: {message}", error=True)
        else:
            shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def _write(text: str, error: bool) -> None:
    stream = sys.stderr if error else sys.stdout
    encoding = stream.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def can_print(text: str) -> bool:
    """Return whether standard output's encoding has these characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def print_json(value: Any) -> None:
    """Print a value for scripts."""
    # JSON leaves this one control character as it is.
    print(json.dumps(value, indent=2, sort_keys=True).replace("\x7f", "\\u007f"))


def write_file(path: Path, text: str, option: str) -> None:
    """Write a file that an option names, all of it or none; raises GridjitError if it cannot be."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device is written, never replaced
            path.write_text(text, encoding="utf-8")
            return
        descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(beside, 0o666 & ~_umask())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        raise GridjitError(f"{option} {path} cannot be written: {error.strerror or error}") from None


def _umask() -> int:
    """Return the process's mask of permissions, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def size_text(size: float) -> str:
    """Return bytes as people write them: 812 B, 3.4 KiB."""
    power = 0
    while size >= 1024 and power < len(_SIZES) - 1:
        size /= 1024
        power += 1
    return f"{size:.1f} {_SIZES[power]}" if power else f"{size:.0f} B"


def age_text(since: float) -> str:
    """Return how long ago a moment (seconds since 1970) was: 3 h, 12 d."""
    seconds = max(0.0, time.time() - since)
    unit, length = next((unit for unit in _UNITS if seconds >= unit[1]), _UNITS[-1])
    return f"{int(seconds / length)} {unit}"


def milliseconds(value: float) -> str:
    """Return a time: 0.4 ms, 37 ms, 1.9 s, 3.2 min."""
    if value >= 120_000:
        return f"{value / 60_000:.1f} min"
    if value >= 1000:
        return f"{value / 1000:.2f} s" if value < 10_000 else f"{value / 1000:.0f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def share_text(value: float) -> str:
    """Return a share as percents; only all of it is 100%."""
    return f"{min(99.9, value * 100):.1f}%".replace(".0%", "%") if value < 1 else "100%"


def count(noun: str, number: int, *, shown: bool = True) -> str:
    """Return a number of things: 1 kernel, 2 kernels."""
    words = noun if number == 1 else f"{noun}s"
    return f"{number} {words}" if shown else words
