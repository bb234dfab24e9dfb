"""places: which line of the user's program adds work to a stream; the line's number is found only for an error."""

from __future__ import annotations

import functools
import sys
from types import CodeType
from typing import NamedTuple

_OURS = ("gridjit", "numba_cuda")


class CodePosition(NamedTuple):
    """A point in a function's code."""

    code: CodeType | None
    instruction: int

    def is_at(self, code: CodeType | None, instruction: int) -> bool:
        """Return whether it is this instruction of this very code; equal code may come from another file."""
        return self.instruction == instruction and self.code is code

    def __str__(self) -> str:
        if self.code is None:
            return "unknown place"
        lines = (line for start, end, line in self.code.co_lines() if start <= self.instruction < end)
        return f"{self.code.co_filename}:{next(lines, None) or self.code.co_firstlineno}"


@functools.cache
def _is_ours(module: object) -> bool:
    return str(module).partition(".")[0] in _OURS


class Site:
    """The place where a launch was last made."""

    __slots__ = ("place",)

    def __init__(self, place: CodePosition) -> None:
        self.place = place

    def __str__(self) -> str:
        return str(self.place)


def here() -> CodePosition:
    """Return where the innermost function of the user's is now."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__")):
            return CodePosition(frame.f_code, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return CodePosition(None, 0)
