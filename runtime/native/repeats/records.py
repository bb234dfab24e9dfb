"""What the function that finds repeated launches reads: a record of its own, and slots of Python's objects."""

from __future__ import annotations

import ctypes

from gridjit.values import dataclass

# C API functions that tell where a program is; Python 3.10 does not have all of them.
API = ("PyEval_GetFrame", "PyFrame_GetLasti", "PyFrame_GetCode")


class RepeatsRecord(ctypes.Structure):
    """What a process has once, beside the environment.

    launch: the launch function. python: the Python function (configured kernel, *arguments) for launches that are not
    repeats. chosen: the address of 32 bits that are 0 if no thread has chosen a stream. The types are those of the
    objects that are read.
    """

    _fields_ = [
        (name, ctypes.c_int64)
        for name in (*API, "launch", "python", "chosen", "repeats_type", "piece_type", "array_type")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatSlots:
    """Where objects keep what is compared: offsets in bytes of slots, of which their classes say what they hold.

    launcher: of a configured kernel. repeats: of its launcher. ended, line, known: of what knows the launcher's last
    launches. line_window, line_conflicts, line_time: of a line. window, conflicts, time, pattern, site, marks: of one
    launch. use_time, use_what: of a use. place, places: of a site. key: of a piece. parameters: of an array.
    ended_size: of a deque's length, which is not a slot.
    """

    launcher: int
    repeats: int
    ended: int
    line: int
    known: int
    line_window: int
    line_conflicts: int
    line_time: int
    window: int
    conflicts: int
    time: int
    pattern: int
    site: int
    marks: int
    use_time: int
    use_what: int
    place: int
    places: int
    key: int
    parameters: int
    ended_size: int
