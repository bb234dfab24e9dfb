"""attention: conditions for Python to act before a stream is given work: busy, chosen, recorded and watched streams.

Machine code reads the numbers before a launch in the default stream. They are 0 in programs that neither give the
host's streams work nor choose a stream, so such launches lose nothing. A stream that is recorded for a graph does no
work: its work goes to the recorder. This imports no module of the runtime, so every module can import it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from gridjit.base.forking import in_child, lock

if TYPE_CHECKING:
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.memory.space import Space
    from gridjit.runtime.memory.staging import Transfer
    from gridjit.runtime.queues.streams import Timeline


class _Numbers(ctypes.Structure):
    """busy: blocking streams of the host that have work, or an error not raised yet; twice. chosen: by a `with`.

    The first two are one word to machine code.
    """

    _fields_ = (("busy", ctypes.c_int32), ("chosen", ctypes.c_int32), ("busy_alone", ctypes.c_int64))


_numbers = _Numbers()
_choosing = lock()

# Machine code reads these for launches that name no stream, and for launches in the default stream by its name.
EITHER = ctypes.addressof(_numbers)
BUSY = EITHER + _Numbers.busy_alone.offset


def busy() -> bool:
    """Return whether a blocking stream of the host has work, or an error that was not raised yet."""
    return bool(_numbers.busy)


def chosen() -> bool:
    """Return whether some thread has chosen a stream."""
    return bool(_numbers.chosen)


def set_busy(count: int) -> None:
    """Note the number of these streams; its counter holds the lock."""
    _numbers.busy = _numbers.busy_alone = count


def add_chosen(count: int) -> None:
    """Note that so many more streams are chosen."""
    with _choosing:
        _numbers.chosen += count


# The parent's work is not the child's.
in_child(lambda: set_busy(0))


class Recorder(Protocol):
    """Records the work of one stream."""

    def transfer(self, launcher: Launcher, ready: Ready) -> Transfer:
        """Return a Transfer for a launch's arguments: it moves no memory, and refuses arguments that need it."""

    def launch(
        self, launcher: Launcher, ready: Ready, args: tuple[Any, ...], packed: bytes, transfer: Transfer
    ) -> None:
        """Record a launch. args: kept alive. packed: its parameters."""

    def copy(self, what: str, destination: Any, source: Any, keep: object, make: Callable[[], object]) -> None:
        """Record a copy between two arrays that NumPy could copy on the host; make makes it in the stream."""


# By timeline, one for each device, and handle. Empty unless a graph is recorded in some thread.
recorders: dict[tuple[int, int], Recorder] = {}


def recorder_of(timeline: object, handle: int) -> Recorder | None:
    """Return the recorder of a stream's work; None if there is none."""
    return recorders.get((id(timeline), handle))


class Watcher(Protocol):
    """Is told of all work of streams, before they are given it."""

    def launch(self, launcher: Launcher, ready: Ready, packed: bytes, args: tuple[Any, ...]) -> None:
        """Note a launch with these parameters; raises HazardError if it is not ordered after work that it needs."""

    def knows(self, launcher: Launcher, args: tuple[Any, ...]) -> bool:
        """Note a launch that machine code is about to make; False, without a note, if Python has to make it.

        Raises HazardError as launch does.
        """

    def returned(self, launcher: Launcher, ready: Ready) -> None:
        """Note that a launch is done, as it has returned."""

    def begins_graph(self, timeline: Timeline, stream: int) -> None:
        """Note that a stream's work is recorded for a graph from now on, and not done."""

    def gave(self, timeline: Timeline, stream: int) -> None:
        """Note that a stream was given a graph, whose use of memory is not known."""

    def used_in_place(self, ghost: Any) -> None:
        """Note that the host uses memory from now on; raises HazardError if a stream's work may still write it."""

    def watch_timeline(self, timeline: Timeline) -> None:
        """Follow a device's streams and events from now on."""

    def watch_space(self, space: Space) -> None:
        """Follow the uses of a device's memory from now on."""


class Repeated(Protocol):
    """A watcher's record of a launcher's last launches."""

    def again(self, args: tuple[Any, ...]) -> bool:
        """Return whether machine code may make a launch now, as it was noted before; False: it is unknown."""


# One at most; none unless GRIDJIT_CHECK_STREAMS asks for it.
watchers: list[Watcher] = []
