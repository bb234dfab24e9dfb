"""The whole table of the kernel language as Markdown, and the program around its examples."""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.frontend.language import arrays, floats, numbers, statements, threads
from gridjit.compiler.frontend.language.rows import Row, Section

SECTIONS = (*threads.SECTIONS, *numbers.SECTIONS, *arrays.SECTIONS, *floats.SECTIONS, *statements.SECTIONS)

PROGRAM = """\
import cmath
import enum
import math
import operator
from collections import namedtuple

import numpy as np
from numba.cuda._internal import cuda_fp8 as float8

import gridjit
from gridjit import cuda, griddepcontrol
from gridjit.cuda import literal_unroll

TABLE = np.arange(8.0)
Point = namedtuple("Point", "x y")


class Colour(enum.IntEnum):
    red = 1
    green = 2


@gridjit.jit(device=True)
def square(x):
    return x * x


@gridjit.jit(device=True)
def factorial(k):
    return k * factorial(k - 1) if k > 1 else 1
"""

# The arrays of numbers that examples use by these names, all of 64 items.
DTYPES = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"c{bits}": f"complex{bits}" for bits in (64, 128)},
    "b1": "bool",
}
_BEGIN, _END = "<!-- table: begin -->\n\n", "\n\n<!-- table: end -->"


def with_table(text: str) -> str:
    """Return the text of docs/kernel-language.md with the program and the table between its markers."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}```python\n{PROGRAM}```\n\n{_page(SECTIONS)}{_END}{after}"


def _page(sections: Iterable[Section]) -> str:
    """Return the sections as Markdown."""
    return "\n\n".join(f"## {one.title}\n\n{one.text}\n\n{_table(one.rows)}" for one in sections)


def _table(rows: Iterable[Row]) -> str:
    head = ("| Name | Types | Meaning | Example | Targets |", "|---|---|---|---|---|")
    return "\n".join((*head, *(f"| {' | '.join(_cells(row))} |" for row in rows)))


def _cells(row: Row) -> tuple[str, ...]:
    example = "<br>".join(map(_code, row.examples[0]))
    targets = ", ".join(row.targets) or "not in kernels"
    return _shown(row), row.all_types, row.meaning, example, f"{targets}; allocates" if row.allocates else targets


def _shown(row: Row) -> str:
    """Return the names as code: the first with its module, others of the same module without."""
    shown, before = [], None
    for name in row.names:
        prefix, dot, last = ("", "", name) if row.syntax else name.rpartition(".")
        shown.append(_code(last if prefix == before else f"{prefix}{dot}{last}"))
        before = prefix
    return ", ".join(shown)


def _code(text: str) -> str:
    """Return text as code of a cell, where a bar would end the cell."""
    return f"`{text}`".replace("|", "\\|")
