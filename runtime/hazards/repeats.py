"""repeats: repeated launches with nothing relevant in between, so that noting them again changes nothing.

A launch is noted with its stream's time. Until the stream's clock is read, all its work may have one time: an order
with one piece of this work is an order with all of it. And until another stream uses its memory, a launch that was in
order still is. So the same launch with the same arrays need be neither checked nor noted. If the clock was read, it
needs a later time. If the stream has to be ordered with other streams first, it is noted. An error names the line of
the program where the launch was last made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from gridjit.runtime.hazards.clocks import Line
from gridjit.runtime.hazards.ranges import UsedMemory
from gridjit.runtime.hazards.work import Site, Work, here
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.queues.attention import chosen

# The known launches of one launcher: with one array, with another, and with both swapped.
_MOST = 4

# Memory that a launch uses, its name there, and whether the launch may write it.
NotedUse = tuple[UsedMemory, str, bool]


class Repeat:
    """A launch that was noted. conflicts, window: its line's at that time. time: its line's at the last launch.

    pattern: for each argument, the piece of an array, or another value's type. site: where it is made. marks: its uses
    of memory, each with its name in errors. work, uses: the launch as it was noted.
    """

    __slots__ = ("conflicts", "marks", "pattern", "site", "time", "uses", "window", "work")

    def __init__(self, args: tuple[Any, ...], uses: dict[int, NotedUse], line: Line, work: Work, site: Site) -> None:
        self.pattern = tuple(uses[at][0] if at in uses else type(arg) for at, arg in enumerate(args))
        self.uses = [*uses.values()]
        self.work = work
        self.site = site
        self.note(line)

    def note(self, line: Line) -> None:
        """Take over the line's state: the launch was noted just now."""
        self.conflicts, self.window, self.time = line.conflicts, line.window, line.time
        used = [piece.used(line.number, writes=writes) for piece, _, writes in self.uses]
        self.marks = [(use, use.what) for use in used]

    def made(self, line: Line) -> None:
        """Note that the launch is made now, after its line's clock was read."""
        self.time = time = line.time
        for use, what in self.marks:
            use.time, use.what = time, what

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Return whether these are the same arrays, and other values of the same types."""
        if len(args) != len(self.pattern):
            return False
        for arg, wanted in zip(args, self.pattern, strict=True):
            if type(wanted) is not UsedMemory:
                if type(arg) is not wanted:
                    return False
            # No two arrays have the same object there; a forgotten piece has none. Nor do two types: giving a piece the
            # object of an array of another type makes all launches be checked again.
            elif type(arg) is not DeviceArray or arg._parameters is not wanted.key:
                return False
        return True


class Repeats:
    """A launcher's last launches, in one line. unnamed: whether the launcher names no stream.

    ended: ended objects that are still known; see_to_ends forgets them. note: notes a launch that need not be checked;
    returns whether it is made in this line.
    """

    __slots__ = ("_ended", "_known", "_note", "_see_to_ends", "line", "unnamed")

    def __init__(
        self,
        line: Line,
        ended: Sequence[object],
        see_to_ends: Callable[[], None],
        note: Callable[[Repeat], bool],
        *,
        unnamed: bool,
    ) -> None:
        self.line = line
        self.unnamed = unnamed
        self._ended = ended
        self._see_to_ends = see_to_ends
        self._note = note
        self._known: tuple[Repeat, ...] = ()

    def again(self, args: tuple[Any, ...]) -> bool:
        """Return whether a launch may be made now: it is known, and noted. The program's own call must call this."""
        if self.unnamed and chosen():
            return False
        if self._ended:
            self._see_to_ends()
        line = self.line
        for known in self._known:
            if known.fits(args):
                if known.conflicts != line.conflicts or (known.window != line.window and not self._note(known)):
                    return False
                if known.time != line.time:
                    known.made(line)
                frame, site = sys._getframe(2), known.site
                if not site.place.is_at(frame.f_code, frame.f_lasti):
                    site.place = here()
                return True
        return False

    def add(self, made: Repeat) -> None:
        """Know a launch from now on, and forget launches that must be checked."""
        now = self.line.conflicts
        others = [one for one in self._known if one.conflicts == now and one.pattern != made.pattern]
        self._known = (made, *others[: _MOST - 1])
