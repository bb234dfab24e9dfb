"""Tables that fit the terminal, whose cells are shown as they are."""

from __future__ import annotations

import sys
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from gridjit.printable import printable

_PIPED_WIDTH = 160


def console() -> Console:
    """Return the console that prints tables; when output is piped, it is wide enough for most of them."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


class PlainTable(Table):
    """A table whose cells are shown as they are."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of texts."""
        super().add_row(*(printable(str(cell)) for cell in cells), **options)


def table(*headings: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table; numbers are in the columns of `right`."""
    made = PlainTable(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return made
