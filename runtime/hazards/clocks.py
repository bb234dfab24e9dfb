"""Clocks: which work is known to happen before which, by vector clocks over a process's streams and the host.

All work of a stream has a time there, 1, 2 and so on. A clock says, for each stream, up to which time its work is known
to be done. What the host has waited for is known everywhere: all later work, of any thread, comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from gridjit.runtime.streams import LEGACY

# Lines before those that ended are looked through.
_MANY = 256

# By the number of a line: the time up to which its work is done.
Clock = dict[int, int]
# Of a default stream: its clock, and its lines' moved and left.
Before: TypeAlias = "tuple[Clock, set[Line], Clock]"


class Line:
    """A stream's work. number: no other line ever has it. clock: what is done before the work that comes next.

    blocking: whether it is ordered with the default stream, that of its lines. handle: what the stream is called.
    window: changes whenever somebody looks at its clock, so that what comes next has a later time. conflicts: changes
    whenever another line uses memory in a way that what this line was given must come before or after.
    """

    __slots__ = ("blocking", "clock", "conflicts", "handle", "joined", "lines", "number", "window")

    def __init__(self, lines: Lines, number: int, handle: int, *, blocking: bool) -> None:
        self.lines = lines
        self.number = number
        self.handle = handle
        self.blocking = blocking
        self.clock: Clock = {number: 0}
        # The default stream's time that it was last ordered after.
        self.joined = 0
        self.window = 0
        self.conflicts = 0


class Lines:
    """The lines of one device. default: the legacy default stream's.

    moved: blocking lines with work since the default stream last had any. left: that of those which were closed.
    ended: the work of all streams that were closed.
    """

    def __init__(self, number: int) -> None:
        self.default = Line(self, number, LEGACY, blocking=False)
        self.all: set[Line] = {self.default}
        self.moved: set[Line] = set()
        self.left: Clock = {}
        self.ended: Clock = {}


class Clocks:
    """The order of all work. host: what the host has waited for. lines: those that have not ended, by number."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self.lines: dict[int, Line] = {}
        self._numbers = 0
        # How many numbers there may be before those that nothing asks for are forgotten.
        self._many = _MANY

    def new_lines(self) -> Lines:
        """Return the lines of a device that is new here."""
        made = Lines(self._number())
        self.lines[made.default.number] = made.default
        return made

    def new_line(self, lines: Lines, handle: int, *, blocking: bool) -> Line:
        """Return the line of a stream that is new here."""
        made = Line(lines, self._number(), handle, blocking=blocking)
        lines.all.add(made)
        self.lines[made.number] = made
        return made

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def is_crowded(self) -> bool:
        """Return whether there were many lines since those that nothing asks for were forgotten."""
        return self._numbers >= self._many

    def forget_all_but(self, numbers: set[int], clocks: Iterable[Clock]) -> None:
        """Forget, in the host's clock and in these, the lines but those of some numbers, which alone are asked for."""
        for clock in (self.host, *clocks):
            for number in [number for number in clock if number not in numbers]:
                del clock[number]
        self._many = self._numbers + max(_MANY, len(numbers))

    # -- what happens ------------------------------------------------------------------------------------------------

    def begin(self, line: Line) -> None:
        """Order what comes next in a line as the default stream does by itself: after it, and it after all others."""
        default = line.lines.default
        if line is default:
            for moved in line.lines.moved:
                moved.window += 1
                self.join(line.clock, moved.clock)
            line.lines.moved.clear()
            self.join(line.clock, line.lines.left)
            line.lines.left.clear()
        elif line.blocking:
            if line not in line.lines.moved:
                line.lines.moved.add(line)
                default.window += 1  # what it is given next comes after this
            if line.joined != (now := default.clock[default.number]):
                line.joined = now
                default.window += 1
                self.join(line.clock, default.clock)

    @staticmethod
    def before(line: Line) -> Before | None:
        """Return what beginning work in a line changes that others see; None if nothing."""
        lines = line.lines
        if line is not lines.default or not (lines.moved or lines.left):
            return None
        return dict(line.clock), set(lines.moved), dict(lines.left)

    @staticmethod
    def go_back(line: Line, before: Before | None) -> None:
        """Have it be as before work was begun, which is not given to the line after all."""
        if before is not None:
            line.clock, line.lines.moved, line.lines.left = before

    def tick(self, line: Line) -> int:
        """Return the time of work that is given to a line now."""
        line.clock[line.number] += 1
        return line.clock[line.number]

    def act(self, line: Line) -> None:
        """Note something that a line is given and that uses no memory. In the default stream, it orders all others."""
        ordered = bool(line.lines.moved or line.lines.left)
        self.begin(line)
        if ordered and line is line.lines.default:
            self.tick(line)  # those that follow the line see that it has moved

    def reached(self, line: Line) -> Clock:
        """Return what is done when a line gets to what it is given now, as an event or a callback is."""
        self.act(line)
        line.window += 1
        short = self._short(line.clock)
        if 2 * len(short) < len(line.clock):
            line.clock = {**short, line.number: line.clock[line.number]}
        return short

    def wait(self, line: Line, clock: Clock) -> None:
        """Have what comes next in a line come after all that a clock says."""
        self.begin(line)
        self.join(line.clock, clock)
        self.tick(line)  # those that follow the line see that it has moved

    def waited_for(self, line: Line) -> Clock:
        """Return what is done for a host that waits for a line now. It is not given anything, and so orders nothing."""
        line.window += 1
        found = self._short(line.clock)
        if line is line.lines.default:
            for moved in line.lines.moved:
                moved.window += 1
                self.join(found, moved.clock)
            self.join(found, line.lines.left)
        return found

    def all_of(self, lines: Lines) -> Clock:
        """Return what is done for a host that waits for a device now."""
        found = dict(lines.ended)
        for line in lines.all:
            line.window += 1
            self.join(found, line.clock)
        return found

    def seen(self, clock: Clock) -> None:
        """Note that the host knows that all is done that a clock says."""
        self.join(self.host, clock)

    def end(self, line: Line) -> None:
        """Forget the line of a stream that was closed; its work is still to be waited for."""
        line.lines.all.discard(line)
        self.lines.pop(line.number, None)
        line.conflicts += 1
        if line in line.lines.moved:
            line.lines.moved.remove(line)
            self.join(line.lines.left, line.clock)
        self.join(line.lines.ended, self._short(line.clock))
        line.lines.ended = self._short(line.lines.ended)

    def disturb(self, number: int) -> None:
        """Note that another line uses what a line was given to use."""
        if (line := self.lines.get(number)) is not None:
            line.conflicts += 1

    def disturb_all(self) -> None:
        """Have every launch looked at again."""
        for line in self.lines.values():
            line.conflicts += 1

    # -- what is known -----------------------------------------------------------------------------------------------

    def orders(self, number: int, time: int, line: Line) -> bool:
        """Return whether the work of a line's number and time is done before what comes next in a line."""
        return line.clock.get(number, 0) >= time or self.host.get(number, 0) >= time

    def is_done(self, number: int, time: int) -> bool:
        """Return whether the host knows that such work is done."""
        return self.host.get(number, 0) >= time

    @staticmethod
    def join(clock: Clock, other: Clock) -> None:
        """Have clock say all that other does, too."""
        for number, time in other.items():
            if clock.get(number, 0) < time:
                clock[number] = time

    def _short(self, clock: Clock) -> Clock:
        """Return a clock without what everybody knows."""
        host = self.host
        return {number: time for number, time in clock.items() if host.get(number, 0) < time}
