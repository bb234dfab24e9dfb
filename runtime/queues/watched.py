"""watched: what follows the order of streams' work, if a setting asks for it: whoever gives work looks here.

It imports nothing of the runtime's, so that all of it can look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.memory.space import Space
    from gridjit.runtime.streams import Timeline


class Watcher(Protocol):
    """What is told of all that is given to streams, before it is."""

    def launch(self, launcher: Launcher, ready: Ready, packed: bytes, args: tuple[Any, ...]) -> None:
        """Note a launch with these parameters; raises HazardError for one that nothing orders after what it needs."""
        ...

    def knows(self, launcher: Launcher, args: tuple[Any, ...]) -> bool:
        """Note a launch that machine code is about to make; False if Python has to make it, and nothing was noted.

        Raises HazardError as launch does.
        """
        ...

    def returned(self, launcher: Launcher, ready: Ready) -> None:
        """Note that a launch is done, as it has returned."""
        ...

    def watch_timeline(self, timeline: Timeline) -> None:
        """Follow a device's streams and events from now on."""
        ...

    def watch_space(self, space: Space) -> None:
        """Follow what a device's memory is used for from now on."""
        ...


# One at most; none unless GRIDJIT_CHECK_STREAMS asks for it.
watchers: list[Watcher] = []
