"""How the command line shows things: tables that fit, sizes and ages as people write them, JSON for scripts."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

_PIPED_WIDTH = 160
_SIZES = ("B", "KiB", "MiB", "GiB")
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def console() -> Console:
    """Return what tables are printed with; piped, it is wide enough for most of them."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def table(*headings: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table; numbers are in the columns of `right`."""
    made = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return made


def print_json(value: Any) -> None:
    """Print a value for scripts."""
    print(json.dumps(value, indent=2, sort_keys=True))


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
