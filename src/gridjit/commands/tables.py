"""Tables that fit the terminal, whose cells are shown as they are, however many rows there are."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from gridjit.base.printable import printable
from gridjit.commands import printing

_PIPED_WIDTH = 160
# A column that has to give way keeps so many characters; a longer cell goes on below.
_LEAST = 8


class TerminalTable:
    """Rows of texts under headings, in columns as wide as their texts; a text too long for the line is folded."""

    def __init__(self, headings: Sequence[str], right: Sequence[str]) -> None:
        self._headings = tuple(headings)
        self._right = [heading in right for heading in headings]
        self._rows: list[tuple[str, ...]] = []

    def add_row(self, *cells: str) -> None:
        """Add a row of texts."""
        self._rows.append(tuple(printable(str(cell)) for cell in cells))

    def add_section(self) -> None:
        """Leave a line free before the next row."""
        self._rows.append(("",) * len(self._headings))

    def lines(self, width: int, rule: str) -> Iterator[str]:
        """Yield the table line by line, none wider than width if that can be. rule: the character below headings."""
        columns = list(zip(self._headings, *self._rows, strict=True))
        widths = _fitted([max(map(_width, column)) for column in columns], width - 2 * len(columns))
        yield from self._folded(self._headings, widths)
        yield f" {rule * (sum(widths) + 2 * len(widths) - 2)}"
        for row in self._rows:
            yield from self._folded(row, widths)

    def _folded(self, row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
        """Yield a row's lines: one, or more if cells are too long for their columns."""
        parts = [_pieces(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            yield f" {'  '.join(map(_aligned, line, widths, self._right))}".rstrip()


def table(*headings: str, right: tuple[str, ...] = ()) -> TerminalTable:
    """Return an empty table; numbers are in the columns of `right`."""
    return TerminalTable(headings, right)


def show(made: TerminalTable) -> None:
    """Print a table with a free line before and after it; when output is piped, it is wide enough for most."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED_WIDTH
    rule = "─" if printing.can_print("─") else "-"
    printing.say_lines("\n".join(["", *made.lines(width, rule), ""]))


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return columns' widths that fit into room, the widest made narrower."""
    fitted = list(widths)
    while sum(fitted) > room and max(fitted) > _LEAST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # few names need it

    return cell_len(text)


def _pieces(text: str, width: int) -> list[str]:
    """Return a cell's lines, at least one."""
    if _width(text) <= width:
        return [text]
    from rich.cells import chop_cells

    return chop_cells(text, width)


def _aligned(text: str, width: int, to_right: bool) -> str:
    space = " " * (width - _width(text))
    return f"{space}{text}" if to_right else f"{text}{space}"
