"""Tracer: writes to a trace a process's compiles and finds, by phase, and why Python makes a launch.

Times are microseconds of the system's monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gridjit.base.printable import printable
from gridjit.compiler.source.code_place import file_named
from gridjit.compiler.values.errors import WITHOUT_LAUNCH, LaunchNeededError
from gridjit.compiler.values.phases import OTHER, Phases, current_phases
from gridjit.runtime.specializations.table import Specialization
from gridjit.runtime.traced.file import TraceEvent, TraceFile

# Name, beginning and end of a time in one phase, in seconds.
Segment = tuple[str, float, float]
# Seconds: between two passes of numba's, some time belongs to neither.
_SHORTEST = 1e-4
# The event of a kernel that has no code without a launch.
NEEDS_LAUNCH = "needs a launch"
_NEEDED = LaunchNeededError.__name__
# The beginnings of reasons why Python makes a launch that hold for it alone, or that cost nothing.
FIRST = "first launch of its shape"
PASSING = (
    *(FIRST, "machine code learned it", "it runs generic code until", "it failed"),
    *("its thread chose a stream", "it is recorded for a graph"),
)
# The groups of phases; phases of the host's code generation begin with "host: ".
GROUPS = {
    "key": "cache",
    "look-up": "cache",
    "store": "cache",
    "wait for others": "cache",
    "import": "front end",
    "dependencies": "front end",
    "front end": "front end",
    "untyped passes": "front end",
    "typed passes": "front end",
    "type inference": "types",
    "lowering": "lowering",
    "LLVM IR text": "lowering",
    "PTX": "PTX",
    "NVRTC": "link",
    "link": "link",
}


def group_of(phase: str) -> str:
    """Return the group of a phase: cache, front end, types, lowering, optimization, PTX, link, other."""
    return "optimization" if phase.startswith("host: ") else GROUPS.get(phase, OTHER)


class Tracer:
    """Writes the trace at a path. Events of one process have its number, events of one thread its own."""

    def __init__(self, path: Path) -> None:
        self._file = TraceFile(path)
        self._announced: set[tuple[int, int]] = set()
        self._launches = _Launches()

    def phases(self, function: Callable[..., Any]) -> Phases:
        """Return phases of a kernel's function, which are traced at their end."""
        return _TracedPhases(self, function)

    def note(self, found: Specialization) -> None:
        """Name this thread's phases by the specialization that was found or compiled."""
        if isinstance(phases := current_phases(), _TracedPhases):
            phases.found = found

    def note_why(self, why: str) -> None:
        """Note why Python makes this thread's launch."""
        if self._launches.under_way:
            self._launches.under_way[-1].why = why

    @contextlib.contextmanager
    def launch(self, function: Callable[..., Any], config: str) -> Iterator[Told]:
        """Trace the block as a launch from Python; the yielded object takes the reason and the code."""
        told, began, error = Told(), time.perf_counter(), {}
        self._launches.under_way.append(told)
        try:
            yield told
        except BaseException as raised:
            error = {"error": type(raised).__name__}
            raise
        finally:
            self._launches.under_way.pop()
            known = _who(function) | {"config": config, "why": told.why or "it failed"} | told.code | error
            name = f"launch {function.__qualname__}"
            self.tell([_slice(name, "launch", began, told.ended or time.perf_counter(), known)])

    def tell(self, events: list[TraceEvent]) -> None:
        """Add events of this thread to the trace."""
        here = {"pid": os.getpid(), "tid": threading.get_native_id()}
        self._file.add([event | here for event in (*self._introduction(here["pid"], here["tid"]), *events)])

    def _introduction(self, process: int, thread: int) -> list[TraceEvent]:
        """Return the names of a process and a thread, at their first event."""
        new = [one for one in ((process, 0), (process, thread)) if one not in self._announced]
        self._announced.update(new)
        program = os.path.basename(sys.argv[0] or "python") if getattr(sys, "argv", None) else "python"
        process_name = _named("process_name", f"{program} ({process})")
        return [process_name if not one[1] else _named("thread_name", threading.current_thread().name) for one in new]


class _TracedPhases(Phases):
    """Phases that record their times, and are traced at the end."""

    __slots__ = ("_began", "_function", "_segments", "_tracer", "found")

    def __init__(self, tracer: Tracer, function: Callable[..., Any]) -> None:
        super().__init__()
        self._tracer, self._function, self._began = tracer, function, self._since
        self._segments: list[Segment] = []
        self.found: Specialization | None = None

    def switch(self, name: str) -> str:
        since = self._since
        before = super().switch(name)
        if self._segments and self._segments[-1][0] == before and self._segments[-1][2] == since:
            since = self._segments.pop()[1]
        self._segments.append((before, since, self._since))
        return before

    def __exit__(self, *raised: object) -> None:
        super().__exit__(*raised)
        self.switch(OTHER)
        error = getattr(raised[0], "__name__", None)
        whole = _slice(*self._label(error), self._began, self._since, self._known(error))
        parts = [_slice(name, group_of(name), since, until, {}) for name, since, until in _smooth(self._segments)]
        self._tracer.tell([whole, *parts])

    def _label(self, error: str | None) -> tuple[str, str]:
        kernel = self._function.__qualname__
        if error == _NEEDED:
            return f"{kernel} {NEEDS_LAUNCH}", NEEDS_LAUNCH
        done = (error and "failed") or (self.found.origin if self.found else "not found")
        verb = {"compiled": "compile", "disk": "find", "failed": "fail"}.get(done, "look up")
        return f"{verb} {kernel}", verb

    def _known(self, error: str | None) -> dict[str, Any]:
        if (found := self.found) is None:
            said = {"why": WITHOUT_LAUNCH} if error == _NEEDED else {"error": error} if error else {}
            return _who(self._function) | said
        return _who(self._function) | {
            "signature": str(found.signature),
            "target": str(found.target),
            "origin": found.origin,
            "why": found.reason,
            "facts": {fact.field: str(fact.value) for fact in found.footprint.facts},
            "bytes": len(found.artifact.image),
            "resources": found.artifact.resources,
            "sharedmem": found.artifact.effects.sharedmem,
            "config": None if found.config is None else str(found.config),
        }


class Told:
    """The trace of a launch from Python: why Python makes it, its code, and when it ended, if before the block."""

    __slots__ = ("code", "ended", "why")

    def __init__(self) -> None:
        self.why, self.ended = "", 0.0
        self.code: dict[str, Any] = {}

    def runs(self, found: Specialization, *, waits: bool, room: int | None) -> None:
        """Note the code of the launch. waits: whether the launch ends when the kernel has run.

        room: how many of its blocks run at once, None if unknown.
        """
        facts = {fact.field: str(fact.value) for fact in found.footprint.facts}
        code = {"signature": str(found.signature), "target": str(found.target), "facts": facts}
        self.code = code | {"waits": waits} | ({} if room is None else {"room": room})


class _Launches(threading.local):
    """The launches that a thread is making, the innermost last."""

    def __init__(self) -> None:
        self.under_way: list[Told] = []


def _smooth(segments: list[Segment]) -> list[Segment]:
    """Return segments that can be seen: short segments join the segment before, and equal neighbours are one."""
    made: list[Segment] = []
    for name, since, until in segments:
        if made and (name == made[-1][0] or until - since < _SHORTEST):
            made[-1] = (made[-1][0], made[-1][1], until)
        elif name != OTHER:
            made.append((name, since, until))
    return made


def _who(function: Callable[..., Any]) -> dict[str, Any]:
    """Return a kernel's full name, and its file."""
    file = file_named(function.__code__.co_filename)
    return {"kernel": f"{function.__module__}.{function.__qualname__}"} | ({"file": file} if file else {})


def _slice(name: str, category: str, began: float, ended: float, known: dict[str, Any]) -> TraceEvent:
    """Return a complete event; a slice lies in slices that began before it and end after it."""
    times = {"ts": round(began * 1e6, 3), "dur": round(max(0.0, ended - began) * 1e6, 3)}
    return {"ph": "X", "name": printable(name), "cat": category, **times, "args": known}


def _named(what: str, name: str) -> TraceEvent:
    return {"ph": "M", "name": what, "args": {"name": printable(name)}}
