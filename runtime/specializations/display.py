"""display: kernels, specializations, statistics and explanations for a terminal and a notebook.

All texts are escaped. Nothing is compiled or waited for.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gridjit.base.printable import printable
from gridjit.base.values import dataclass

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.specializations.statistics import Statistics
    from gridjit.runtime.specializations.table import Specialization

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


_COLUMNS = ("signature", "target", "depends on", "from", "ms", "registers", "shared", "local", "constant")
_NUMBERS = frozenset(("ms", "registers", "shared", "local", "constant"))
_WHY = "why"
# An artifact's names of the numbers in a row: registers of a thread, then bytes of a block, a thread, the code.
_RESOURCES = {
    "ptx": ("registers", "shared_bytes", "local_bytes", "constant_bytes"),
    "host": ("", "shared_bytes", "slab_bytes_per_thread", ""),
}


class SpecializationList(tuple["Specialization", ...]):
    """Specializations of one kernel: a short repr, a table where it is printed and in a notebook. of: its name."""

    of: str

    def __new__(cls, found: Iterable[Specialization] = (), of: str = "") -> SpecializationList:
        """Return the list of specializations of a kernel."""
        made = super().__new__(cls, found)
        made.of = of
        return made

    def __repr__(self) -> str:
        targets = Counter(str(found.target) for found in self)
        counts = ", ".join(f"{count} for {target}" for target, count in targets.items())
        return printable(f"<{self._title}{f': {counts}' if counts else ''}>")

    def __str__(self) -> str:
        return self._table().text() if self else self._title

    def _repr_html_(self) -> str:
        """Return the table for notebooks, with the reason for each specialization."""
        return self._table(_WHY).html() if self else f"<div>{escaped(self._title)}</div>"

    @property
    def _title(self) -> str:
        noun = "specialization" if len(self) == 1 else "specializations"
        return printable(f"{len(self) or 'no'} {noun} of {self.of or 'a kernel'}")

    def _table(self, *more: str) -> Table:
        rows = tuple((*_row(found), *(found.reason for _ in more)) for found in self)
        return Table(title=self._title, columns=(*_COLUMNS, *more), rows=rows, numbers=_NUMBERS)


def _row(found: Specialization) -> tuple[str, ...]:
    return (
        str(found.signature),
        str(found.target) + (f" ({found.tier})" if found.tier else ""),
        str(found.footprint),
        found.origin,
        f"{found.milliseconds:.1f}",
        *_resources(found),
    )


def _resources(found: Specialization) -> tuple[str, ...]:
    """Return the numbers in the artifact, "-" for missing numbers."""
    known = found.artifact.resources
    return tuple(str(known.get(name, "-")) for name in _RESOURCES.get(found.target.kind, ("",) * 4))


_COUNTS = ("compiles", "disk_hits", "disk_misses", "launches_needed", "generic_launches", "swaps")


def kernel_page(kernel: Kernel) -> str:
    """Return a kernel: its name and options, how often it was compiled, and its specializations."""
    options = ", ".join(f"{name}={value!r}" for name, value in kernel.targetoptions.items())
    head = f"<b>{escaped(kernel.name)}</b>({escaped(', '.join(kernel.parameter_names))})"
    origin = escaped(f"kernel of {kernel.py_func.__module__}{f', {options}' if options else ''}; {kernel.stats.told}")
    return f"<div>{head}<br>{origin}{SpecializationList(kernel.in_memory(), of=kernel.name)._repr_html_()}</div>"


def configured_page(configured: ConfiguredKernel, serving: Iterable[Specialization]) -> str:
    """Return a configured kernel: the shape of its launch, and the specializations that may serve it."""
    kernel, config = configured.dispatcher, configured.config
    default = configured.stream is None or (type(configured.stream) is int and configured.stream == 0)
    stream = "" if default else f", stream {configured.stream!r}"
    head = f"<b>{escaped(kernel.name)}</b> configured for {escaped(f'{config}{stream}')}"
    return f"<div>{head}{SpecializationList(serving, of=kernel.name)._repr_html_()}</div>"


def statistics_page(stats: Statistics) -> str:
    """Return statistics: the counts, then hits and misses by signature."""
    counts = tuple((name.replace("_", " "), str(getattr(stats, name))) for name in _COUNTS)
    numbers = frozenset(("count",))
    whole = Table(title="in this process", columns=("what", "count"), rows=counts, numbers=numbers).html()
    return f"<div>{whole}{_by_signature(stats)}</div>"


def _by_signature(stats: Statistics) -> str:
    hits, misses = dict(stats.cache_hits), dict(stats.cache_misses)
    rows = tuple((str(one), str(hits.get(one, 0)), str(misses.get(one, 0))) for one in dict.fromkeys([*hits, *misses]))
    columns = ("signature", "hits", "misses")
    return Table(title="in the cache", columns=columns, rows=rows, numbers=frozenset(columns[1:])).html()


class Story(str):
    """A text of several lines, which an interactive shell shows line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text for notebooks."""
        return f"<pre style='font-family:monospace'>{chr(10).join(escaped(line) for line in self.split(chr(10)))}</pre>"
