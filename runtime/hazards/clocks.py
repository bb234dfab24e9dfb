"""Clocks: which work is known to be done before which, by vector clocks over a process's streams and the host.

All work of a stream has a time there, 1, 2 and so on. A clock says of each stream up to which time its work is known
to be done. What the host has waited for is known to everybody: whatever is given later, by any thread, comes after it.
"""

from __future__ import annotations

from gridjit.runtime.streams import LEGACY

# By the number of a line: the time up to which its work is done.
Clock = dict[int, int]


class Line:
    """A stream's work. number: no other line ever has it. clock: what is done before the work that comes next.

    blocking: whether it is ordered with the default stream, that of its lines. handle: what the stream is called.
    """

    __slots__ = ("blocking", "clock", "handle", "joined", "lines", "number")

    def __init__(self, lines: Lines, number: int, handle: int, *, blocking: bool) -> None:
        self.lines = lines
        self.number = number
        self.handle = handle
        self.blocking = blocking
        self.clock: Clock = {number: 0}
        # The default stream's time that it was last ordered after.
        self.joined = 0


class Lines:
    """The lines of one device. default: the legacy default stream's.

    moved: blocking lines with work since the default stream last had any. ended: the work of streams that were closed.
    """

    def __init__(self, number: int) -> None:
        self.default = Line(self, number, LEGACY, blocking=False)
        self.all: set[Line] = {self.default}
        self.moved: set[Line] = set()
        self.ended: Clock = {}


class Clocks:
    """The order of all work. host: what the host has waited for."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._numbers = 0

    def new_lines(self) -> Lines:
        """Return the lines of a device that is new here."""
        return Lines(self._number())

    def new_line(self, lines: Lines, handle: int, *, blocking: bool) -> Line:
        """Return the line of a stream that is new here."""
        made = Line(lines, self._number(), handle, blocking=blocking)
        lines.all.add(made)
        return made

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    # -- what happens ------------------------------------------------------------------------------------------------

    def begin(self, line: Line) -> None:
        """Order what comes next in a line as the default stream does by itself: after it, and it after all others."""
        default = line.lines.default
        if line is default:
            for moved in line.lines.moved:
                self.join(line.clock, moved.clock)
            line.lines.moved.clear()
        elif line.blocking:
            line.lines.moved.add(line)
            if line.joined != (now := default.clock[default.number]):
                line.joined = now
                self.join(line.clock, default.clock)

    def tick(self, line: Line) -> int:
        """Return the time of work that is given to a line now."""
        line.clock[line.number] += 1
        return line.clock[line.number]

    def reached(self, line: Line) -> Clock:
        """Return what is done when all that a line was given is: what an event that is recorded now stands for."""
        self.begin(line)
        return self._short(line.clock)

    def wait(self, line: Line, clock: Clock) -> None:
        """Have what comes next in a line come after all that a clock says."""
        self.begin(line)
        self.join(line.clock, clock)
        self.tick(line)  # those that follow the line see that it has moved

    def waited_for(self, line: Line) -> Clock:
        """Return what is done for a host that waits for a line now."""
        if line is line.lines.default:
            self.begin(line)
        return self._short(line.clock)

    def all_of(self, lines: Lines) -> Clock:
        """Return what is done for a host that waits for a device now."""
        found = dict(lines.ended)
        for line in lines.all:
            self.join(found, line.clock)
        return found

    def seen(self, clock: Clock) -> None:
        """Note that the host knows that all is done that a clock says."""
        self.join(self.host, clock)

    def end(self, line: Line) -> None:
        """Forget the line of a stream that was closed; its work is still to be waited for."""
        line.lines.all.discard(line)
        self.join(line.lines.ended, self._short(line.clock))
        line.lines.ended = self._short(line.lines.ended)

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
