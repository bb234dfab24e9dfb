"""Work: a launch or a copy, as errors describe it; and the error for two that are not ordered."""

from __future__ import annotations

import functools
import os
import sys
from types import CodeType
from typing import NamedTuple

from gridjit.compiler.values.errors import HazardError
from gridjit.runtime.hazards.ranges import MemoryUse, UsedMemory
from gridjit.runtime.queues.streams import LEGACY, PER_THREAD


class Work(NamedTuple):
    """Work that a stream is given. what: a kernel's name, or the kind of work. stream: the stream's handle.

    place: where the stream was given it; a repeated launch changes it.
    """

    what: str
    stream: int
    place: CodePosition | Site

    def __str__(self) -> str:
        path, _, line = str(self.place).rpartition(":")
        return f"{self.what} ({os.path.basename(path)}:{line}, {stream_name(self.stream)})"


def stream_name(handle: int) -> str:
    """Return a stream's name in errors."""
    if handle <= LEGACY:
        return "the default stream"
    return "the thread's own default stream" if handle == PER_THREAD else f"stream 0x{handle:x}"


def hazard(work: Work, name: str, piece: UsedMemory, earlier: MemoryUse, *, writes: bool, wrote: bool) -> HazardError:
    """Return the error of work that uses memory while earlier work may still use it.

    name: of the work's array. writes, wrote: whether the work and the earlier work write.
    """
    before, before_name = earlier.what
    return HazardError(
        f"{work} {_verb(writes)} {_called(name)} while {before} may still {'write' if wrote else 'read'} "
        f"{_called(before_name) if before_name != name else 'it'}: nothing orders the two streams ({piece}). "
        f"Insert second.wait(first) between them, where first is {stream_name(before.stream)} and second is "
        f"{stream_name(work.stream)}; or an event, or first.synchronize()"
    )


def host_hazard(place: CodePosition, piece: UsedMemory, earlier: MemoryUse) -> HazardError:
    """Return the error for a use of memory in place by the host while work not waited for may still write it."""
    before, name = earlier.what
    path, _, line = str(place).rpartition(":")
    return HazardError(
        f"the host uses an array in place ({os.path.basename(path)}:{line}) while {before} may still write "
        f"{_called(name)}: nothing has waited for it ({piece}). Call synchronize() of {stream_name(before.stream)}, "
        "or of an event in it, between the two"
    )


def _verb(writes: bool) -> str:
    return "may write" if writes else "reads"


def _called(name: str) -> str:
    return f"array '{name}'" if name else "the array"


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
    """Return the place in the innermost function of the user's."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame.f_globals.get("__name__")):
            return CodePosition(frame.f_code, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return CodePosition(None, 0)
