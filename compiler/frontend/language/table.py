"""The whole table of the kernel language, and the program around its examples."""

from __future__ import annotations

from gridjit.compiler.frontend.language import arrays, floats, numbers, statements, threads
from gridjit.compiler.frontend.language.rows import page

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
    return f"{before}{_BEGIN}```python\n{PROGRAM}```\n\n{page(SECTIONS)}{_END}{after}"
