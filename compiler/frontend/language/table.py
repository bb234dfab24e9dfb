"""The whole table of the kernel language as Markdown, and the program around its examples."""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.frontend.language import arrays, floats, numbers, statements, threads
from gridjit.compiler.frontend.language.terms import Chapter, Term

CHAPTERS = (*threads.CHAPTERS, *numbers.CHAPTERS, *arrays.CHAPTERS, *floats.CHAPTERS, *statements.CHAPTERS)

PROGRAM = """\
import cmath
import enum
import math
import operator
from collections import namedtuple

import numpy as np
from numba.cuda._internal import cuda_fp8 as float8  # type: ignore

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
    return f"{before}{_BEGIN}```python\n{PROGRAM}```\n\n{_page(CHAPTERS)}{_END}{after}"


def _page(chapters: Iterable[Chapter]) -> str:
    """Return the chapters as Markdown."""
    return "\n\n".join(f"## {one.title}\n\n{one.text}\n\n{_table(one.terms)}" for one in chapters)


def _table(terms: Iterable[Term]) -> str:
    head = ("| Name | Types | Meaning | Example | Targets |", "|---|---|---|---|---|")
    return "\n".join((*head, *(f"| {' | '.join(_cells(term))} |" for term in terms)))


def _cells(term: Term) -> tuple[str, ...]:
    example = "<br>".join(map(_code, term.examples[0]))
    targets = ", ".join(term.targets) or "not in kernels"
    targets += "; allocates" if term.allocates and term.targets else ""
    return _shown(term), term.all_types, term.meaning, example, targets


def _shown(term: Term) -> str:
    """Return the names as code: the first with its module, others of the same module without."""
    shown, before = [], None
    for name in term.names:
        prefix, dot, last = ("", "", name) if term.syntax else name.removeprefix("builtins.").rpartition(".")
        shown.append(_code(last if prefix == before else f"{prefix}{dot}{last}"))
        before = prefix
    return ", ".join(shown)


def _code(text: str) -> str:
    """Return text as code of a cell, where a bar would end the cell."""
    return f"`{text}`".replace("|", "\\|")
