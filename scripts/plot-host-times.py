#!/usr/bin/env python3
"""Draw how kernels on the host target compare with numba, from the figures in docs/host-target.md.

python scripts/plot-host-times.py           # writes docs/host-times.svg
python scripts/plot-host-times.py --check   # status 1 if that picture does not show these figures
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from committed_picture import DOCS, write_or_check

from gridjit.commands.svg import Bar, bars

PICTURE = DOCS / "host-times.svg"
_HEAD = "| kernel | against |"


class Figure(NamedTuple):
    """A kernel's time and the other's, as the table says them, and the ratio of both."""

    kernel: str
    ours: str
    other: str
    ratio: float


def figures(text: str) -> list[Figure]:
    """Return the rows of the table of kernels in docs/host-target.md; raises ValueError if it is not there."""
    lines = text.splitlines()
    head = next((number for number, line in enumerate(lines) if line.startswith(_HEAD)), None)
    if head is None:
        raise ValueError(f"docs/host-target.md has no table that begins with {_HEAD!r}")
    found = []
    for line in lines[head + 2 :]:
        if not line.startswith("|"):
            break
        kernel, _, ours, other, ratio, _ = (cell.strip() for cell in line.strip("|").split("|"))
        found.append(Figure(kernel, ours, other, float(ratio)))
    return found


def picture(text: str) -> str:
    """Return the picture of the figures in a text."""
    rows = [
        Bar(
            name=one.kernel,
            value=one.ratio,
            said=f"{one.ratio:.2f} ({one.ours})",
            color="accent" if one.ratio <= 1 else "c6",
        )
        for one in figures(text)
    ]
    return bars(
        "Kernels on the host target, as multiples of numba's time",
        "Two threads each; shorter is faster. In parentheses: gridjit's time",
        rows,
        mark=(1.0, "numba with as many threads: 1"),
    )


if __name__ == "__main__":
    sys.exit(write_or_check(__doc__ or "", DOCS / "host-target.md", PICTURE, picture))
