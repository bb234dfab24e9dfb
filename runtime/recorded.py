"""recorded: the streams whose work is recorded for a graph just now, and by what: whoever would do the work looks here.

It imports nothing of the runtime's, so that all of it can look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gridjit.runtime.args.staging import Transfer
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready


class Recorder(Protocol):
    """What records the work of one stream."""

    def transfer(self, launcher: Launcher, ready: Ready) -> Transfer:
        """Return what looks at the arguments of a launch: it moves no memory, and refuses what would need that."""
        ...

    def launch(
        self, launcher: Launcher, ready: Ready, args: tuple[Any, ...], packed: bytes, transfer: Transfer
    ) -> None:
        """Record a launch. args: what it keeps alive. packed: its parameters."""
        ...

    def copy(self, what: str, destination: Any, source: Any, keep: object, make: Callable[[], object]) -> None:
        """Record a copy between two arrays that NumPy could copy on the host; make makes it in the stream."""
        ...


# By timeline, of which there is one a device, and handle. Empty unless a graph is recorded in some thread.
recorders: dict[tuple[int, int], Recorder] = {}


def recorder_of(timeline: object, handle: int) -> Recorder | None:
    """Return what records a stream's work; None if it is done."""
    return recorders.get((id(timeline), handle))
