#!/usr/bin/env python3
"""Draw what a launch costs with gridjit and with other libraries, from the figures in docs/benchmarks.md.

python scripts/plot-launch-cost.py           # writes docs/launch-cost.svg
python scripts/plot-launch-cost.py --check   # status 1 if that picture does not show these figures
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

from committed_picture import DOCS, write_or_check

from gridjit.commands.svg import Bar, bars

PICTURE = DOCS / "launch-cost.svg"
# Of the rows of the tables: what each library launches fastest of its own arrays, or of those it is used with.
ROWS = {
    "**gridjit**, own arrays": "gridjit, own arrays",
    "**gridjit**, CuPy arrays": "gridjit, CuPy arrays",
    "**gridjit**, torch tensors": "gridjit, torch tensors",
    "CuPy RawKernel, CuPy arrays": "CuPy RawKernel, CuPy arrays",
    "Triton, torch tensors": "Triton, torch tensors",
    "numba-cuda, own arrays": "numba-cuda, own arrays",
    "numba-cuda, torch tensors": "numba-cuda, torch tensors",
    "numba-cuda, CuPy arrays": "numba-cuda, CuPy arrays",
}
_FLOOR, _COLUMN = "bare C loop, arrays", "4 arguments"


class Figure(NamedTuple):
    """What a launch with four arguments costs, in microseconds, and as a multiple of the bare C loop in its process."""

    microseconds: float
    multiple: float | None


def figures(text: str) -> dict[str, Figure]:
    """Return the figures of each row of the tables of launches in docs/benchmarks.md."""
    found: dict[str, Figure] = {}
    column: int | None = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif line.startswith("| us per launch"):
            column = cells.index(_COLUMN)
        elif column is not None and (figure := re.fullmatch(r"([\d.]+)(?: \(([\d.]+)\))?", cells[column])):
            found[cells[0]] = Figure(float(figure[1]), float(figure[2]) if figure[2] else None)
    return found


def picture(text: str) -> str:
    """Return the picture of the figures in a text; raises KeyError for one that is missing."""
    known = figures(text)
    where = re.search(r"^## Figures\n(.*?)\.\n", text, re.M)
    rows = [_named(shown, known[row]) for row, shown in ROWS.items()]
    floor = known[_FLOOR].microseconds
    return bars(
        "A launch with 4 array arguments, in microseconds",
        f"Empty kernel, medians. {where[1] if where else ''}",
        rows,
        mark=(floor, f"bare C loop of cuLaunchKernel: {floor:.2f}"),
    )


def _named(shown: str, figure: Figure) -> Bar:
    ours = shown.startswith("gridjit")
    times = f" ({figure.multiple:g}x)" if figure.multiple else ""
    return Bar(
        name=shown,
        value=figure.microseconds,
        said=f"{figure.microseconds:.2f}{times}",
        color="accent" if ours else "c6",
        bold=ours,
    )


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__ or "", DOCS / "benchmarks.md", PICTURE, picture))
