"""places: which line of the user's program adds work to a stream, found with as little effort as an error needs."""

from __future__ import annotations

import functools
import sys
from itertools import islice
from types import CodeType
from typing import NamedTuple

_OURS = ("gridjit", "numba_cuda")


class Place(NamedTuple):
    """A point in a function's code."""

    code: CodeType | None
    instruction: int

    def __str__(self) -> str:
        if self.code is None:
            return "unknown place"
        lines = next(islice(self.code.co_positions(), self.instruction // 2, None), (None,)) if _HAS_POSITIONS else ()
        line = lines[0] if lines else self.code.co_firstlineno
        return f"{self.code.co_filename}:{line}"


_HAS_POSITIONS = hasattr(CodeType, "co_positions")  # from Python 3.11 on


@functools.cache
def _is_ours(module: object) -> bool:
    return str(module).partition(".")[0] in _OURS


def here() -> Place:
    """Return where the innermost function of the user's is now."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__")):
            return Place(frame.f_code, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return Place(None, 0)
