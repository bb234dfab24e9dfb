"""Table: rows of short texts, as a terminal and as a notebook show them. Whatever the texts hold is only shown."""

from __future__ import annotations

import html

from gridjit.printable import printable
from gridjit.values import dataclass

_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A title, the names of the columns and the cells of each row. numbers: the columns that are set to the right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()

    def text(self) -> str:
        """Return the table for a terminal, without control characters."""
        rows = [self.columns, *self.rows]
        cells = [[printable(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join([printable(self.title), *(self._line(row, widths) for row in cells)])

    def html(self) -> str:
        """Return the table for a notebook, all texts escaped."""
        head = "".join(f"<th{self._side(name)}>{escaped(name)}</th>" for name in self.columns)
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        return (
            f"<table><caption>{escaped(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _line(self, row: list[str], widths: list[int]) -> str:
        cells = (
            cell.rjust(width) if name in self.numbers else cell.ljust(width)
            for name, cell, width in zip(self.columns, row, widths, strict=True)
        )
        return _GAP.join(cells).rstrip()

    def _cells(self, row: tuple[str, ...]) -> str:
        return "".join(
            f"<td{self._side(name)}>{escaped(cell)}</td>" for name, cell in zip(self.columns, row, strict=True)
        )

    def _side(self, name: str) -> str:
        return f' style="text-align: {"right" if name in self.numbers else "left"}"'


def escaped(text: str) -> str:
    """Return text as HTML shows it, invisible characters as escapes."""
    return html.escape(printable(text))
