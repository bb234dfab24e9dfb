"""events: the contents of a trace's file, read as nested slices; other rows, as the file may hold, are left out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridjit.compiler.values.errors import GridjitError

_MOST_BYTES = 1 << 28
# Of a trace that is read at once, so that a reader sees how far it is: a tenth of a second's worth.
_PART_BYTES = 1 << 22
# Microseconds: times are rounded.
_ROUNDING = 0.01
# Microseconds since a machine started, or since 1970; what is beyond is not a time.
_LATEST = 1e17


@dataclass(slots=True, kw_only=True)
class TraceSlice:
    """A slice of a trace. begins, ends: in seconds from the trace's first. place: process and thread, by name.

    kernel: the one that it is of, or lies in, and its file ("" if unknown). around: the slice that it lies in.
    compiling: the seconds of other slices directly in a launch, which are of look-ups and compiles.
    """

    name: str
    group: str
    known: dict[str, Any]
    place: str
    begins: float
    ends: float
    kernel: str = ""
    file: str = ""
    depth: int = 0
    compiling: float = 0.0
    around: TraceSlice | None = field(default=None, repr=False)

    def text(self, name: str) -> str:
        """Return the value known by a name as text; "" for none."""
        found = self.known.get(name)
        return "" if found is None else str(found)

    def mapping(self, name: str) -> dict[str, Any]:
        """Return the value known by a name, if it is an object."""
        return _mapping(self.known.get(name))


def parts_of(path: Path) -> int:
    """Return how many steps reading the trace at path takes; 0 if it cannot be told."""
    try:
        return path.stat().st_size // _PART_BYTES + 1
    except OSError:
        return 0


def read_events(path: Path, step: Callable[[str], None] = lambda name: None) -> list[TraceSlice]:
    """Return the slices of the trace at path, in time's order; raises GridjitError naming its fault.

    step: is called with the file's name before each of its parts (`parts_of`).
    """
    rows = _rows(path, step)
    names = _Names(_names(rows))
    slices = [row for row in rows if isinstance(row, dict) and row.get("ph") == "X"]
    whole = sorted((row for row in slices if _is_time(row.get("ts")) and _is_time(row.get("dur"))), key=_order)
    start = whole[0]["ts"] if whole else 0.0
    made = [_event(row, start, names) for row in whole]
    _nest(made)
    return made


def _rows(path: Path, step: Callable[[str], None]) -> list[Any]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise GridjitError(f"{path} is larger than {_MOST_BYTES >> 20} MiB: report a shorter run")
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise GridjitError(f"{path} cannot be read: {error.strerror or error}") from None
    if (found := _rows_of_lines(text, path, step)) is not None:
        return found
    for whole in (text, f"{text.rstrip(',')}]", f"{text.rpartition(chr(10))[0].rstrip(',')}]"):
        # The end may be missing, and so may that of the last line: of a process that was killed, or a full disk.
        try:
            found = json.loads(whole)
        except (ValueError, RecursionError):
            continue
        found = found.get("traceEvents") if isinstance(found, Mapping) else found
        if isinstance(found, list):
            return found
    raise GridjitError(f"{path} is not a trace: give a file that GRIDJIT_TRACE=FILE wrote")


def _rows_of_lines(text: str, path: Path, step: Callable[[str], None]) -> list[Any] | None:
    """Return the rows of an array that has each on lines of its own, part by part; None if it is written otherwise."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    rows: list[Any] = []
    at, last = 1, len(text) - 1
    while at < last:
        step(path.name)
        line_ends = text.find("\n", at + _PART_BYTES, last)
        ends = line_ends if line_ends > 0 else last
        part = text[at:ends].strip().removesuffix(",")
        try:
            rows += json.loads(f"[{part}]")
        except (ValueError, RecursionError):
            return None
        at = ends
    return rows


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value < _LATEST


def _order(row: dict[str, Any]) -> tuple[float, float]:
    """Return the sort key of a slice: the longer first of two that begin together, as it is around the other."""
    return row["ts"], -row["dur"]


def _names(rows: Iterable[Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield (process, thread) by number, and the name; a process's own is under an empty thread."""
    for row in rows:
        if isinstance(row, dict) and row.get("ph") == "M":
            thread = "" if row.get("name") == "process_name" else str(row.get("tid"))
            yield (str(row.get("pid")), thread), str(_mapping(row.get("args")).get("name", ""))


class _Names:
    """The names of processes and threads."""

    def __init__(self, known: Iterable[tuple[tuple[str, str], str]]) -> None:
        self._known = dict(known)
        self._places: dict[tuple[str, str], str] = {}

    def place(self, process: str, thread: str) -> str:
        """Return a thread's name, with its process."""
        if (found := self._places.get((process, thread))) is None:
            names = self._known.get((process, ""), f"process {process}"), f"thread {thread}"
            found = ", ".join((names[0], self._known.get((process, thread), names[1])))
            self._places[process, thread] = found
        return found


def _event(row: dict[str, Any], start: float, names: _Names) -> TraceSlice:
    known = _mapping(row.get("args"))
    return TraceSlice(
        name=str(row.get("name", "")),
        group=str(row.get("cat", "")),
        known=known,
        place=names.place(str(row.get("pid")), str(row.get("tid"))),
        begins=(row["ts"] - start) / 1e6,
        ends=(row["ts"] + row["dur"] - start) / 1e6,
        kernel=str(known.get("kernel", "")),
        file=str(known.get("file", "")),
    )


def _nest(events: Iterable[TraceSlice]) -> None:
    """Note in each event the event that it lies in."""
    opened: dict[str, list[TraceSlice]] = {}
    for event in events:
        around = opened.setdefault(event.place, [])
        while around and around[-1].ends < event.ends - _ROUNDING / 1e6:
            around.pop()
        if around:
            event.around, event.depth = around[-1], len(around)
            if not event.kernel:
                event.kernel, event.file = around[-1].kernel, around[-1].file
            if around[-1].group == "launch" != event.group:
                around[-1].compiling += event.ends - event.begins
        around.append(event)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
