"""Negative shapes of shared arrays: found in the modules of a kernel, since the front end takes them for shape 0.

Shape 0 is the launch's dynamic shared memory. Code for a negative shape is not valid LLVM IR, or means no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# What the front end says of a shape without items, where it looks.
EMPTY: Final = "array length <= 0"
# A global of LLVM IR, not a text that a kernel prints.
_NEGATIVE = re.compile(r'^@(?:"[^"]*"|[\w.$]+) = [^"\n]*\bglobal \[-\d', re.MULTILINE)


def refuse_negative_shapes(modules: Iterable[str]) -> None:
    """Raise ValueError, in the words of the front end, if a module has a shared array of a negative shape."""
    if any("global [-" in module and _NEGATIVE.search(module) for module in modules):
        raise ValueError(EMPTY)
