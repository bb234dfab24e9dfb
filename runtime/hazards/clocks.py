"""Clocks: the order of work, by vector clocks over a process's streams and the host.

Each stream is a line, and its work has times there: 1, 2 and so on. A clock says, for each line, up to which time its
work is known to be done. The host's waits are known everywhere: all later work, of any thread, comes after them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from gridjit.runtime.queues.streams import LEGACY

# New lines before ended lines are looked for.
_MANY = 256

# By the number of a line: the time up to which its work is done.
Clock = dict[int, int]
# A line's clock and joined; for the default stream, also moved and left of its lines.
Before: TypeAlias = "tuple[Clock, int, set[Line], Clock]"


class Line:
    """A stream's work. number: no other line ever has it. clock: the work done before the line's next work.

    handle: the stream's. blocking: whether its work is ordered with the default stream's. time: of the next work; it
    grows whenever the clock is read. moves: grows with each work. window: changes when the next work is ordered with
    other lines, and so must be noted. conflicts: changes when another line uses memory in a way that must be ordered
    with this line's work.
    """

    __slots__ = ("blocking", "clock", "conflicts", "handle", "joined", "lines", "moves", "number", "time", "window")

    def __init__(self, lines: Lines, number: int, handle: int, *, blocking: bool) -> None:
        self.lines = lines
        self.number = number
        self.handle = handle
        self.blocking = blocking
        self.clock: Clock = {number: 0}
        self.time = 1
        self.moves = 0
        # How many of the default stream's moves it was last ordered after.
        self.joined = 0
        self.window = 0
        self.conflicts = 0


class Lines:
    """The lines of one device. default: the legacy default stream's.

    moved: blocking lines that were given work after the default stream's last work. left: such work of closed streams.
    ended: the work of all closed streams. is_own: whether only gridjit gives them work, so that no other library
    captures it.
    """

    def __init__(self, number: int, *, is_own: bool) -> None:
        self.is_own = is_own
        self.default = Line(self, number, LEGACY, blocking=False)
        self.all: set[Line] = {self.default}
        self.moved: set[Line] = set()
        self.left: Clock = {}
        self.ended: Clock = {}


class Clocks:
    """The order of all work. host: the work that the host has waited for. lines: live lines, by number."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self.lines: dict[int, Line] = {}
        self._numbers = 0
        # The number of lines at which unused lines are forgotten.
        self._many = _MANY

    def new_lines(self, *, is_own: bool) -> Lines:
        """Return the lines of a new device."""
        made = Lines(self._number(), is_own=is_own)
        self.lines[made.default.number] = made.default
        return made

    def new_line(self, lines: Lines, handle: int, *, blocking: bool) -> Line:
        """Return the line of a new stream."""
        made = Line(lines, self._number(), handle, blocking=blocking)
        lines.all.add(made)
        self.lines[made.number] = made
        return made

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def is_crowded(self) -> bool:
        """Return whether many lines were made since unused ones were last forgotten."""
        return self._numbers >= self._many

    def forget_all_but(self, numbers: set[int], clocks: Iterable[Clock]) -> None:
        """Forget all lines except those with these numbers, in the host's clock and in the given ones."""
        for clock in (self.host, *clocks):
            for number in [number for number in clock if number not in numbers]:
                del clock[number]
        self._many = self._numbers + max(_MANY, len(numbers))

    # -- what happens ------------------------------------------------------------------------------------------------

    def begin(self, line: Line) -> None:
        """Order a line's next work as the default stream does by itself: after it, and it after all other lines."""
        default = line.lines.default
        if line is default:
            for moved in line.lines.moved:
                moved.window += 1
                self.join(line.clock, self.look(moved))
            line.lines.moved.clear()
            self.join(line.clock, line.lines.left)
            line.lines.left.clear()
        elif line.blocking:
            if line not in line.lines.moved:
                line.lines.moved.add(line)
                default.window += 1  # its next work comes after this
            if line.joined != default.moves:
                line.joined = default.moves
                default.window += 1
                self.join(line.clock, self.look(default))

    @staticmethod
    def before(line: Line) -> Before | None:
        """Return a line's state before it begins work; None if the work does not change it for other lines."""
        lines = line.lines
        if line is lines.default:
            changes = bool(lines.moved or lines.left)
        else:
            changes = line.blocking and line.joined != lines.default.moves
        return (dict(line.clock), line.joined, set(lines.moved), dict(lines.left)) if changes else None

    @staticmethod
    def go_back(line: Line, before: Before | None) -> None:
        """Restore the state before: the line is not given the work after all."""
        if before is not None:
            line.clock, line.joined, line.lines.moved, line.lines.left = before

    @staticmethod
    def look(line: Line) -> Clock:
        """Return the clock at which all work of a line is done. Its next work has a later time."""
        line.clock[line.number] = line.time
        line.time += 1
        if not line.lines.is_own:
            line.window += 1
        return line.clock

    def act(self, line: Line) -> None:
        """Note that a line is given an operation without memory. In the default stream, it orders all other lines."""
        lines = line.lines
        if line is not lines.default:
            self.begin(line)
        elif lines.moved or lines.left:
            self.begin(line)
            line.moves += 1  # lines that follow this line see that it has moved

    def reached(self, line: Line) -> Clock:
        """Return the work done when a line comes to an operation of now, such as an event or a callback."""
        lines = line.lines
        if line is not lines.default or lines.moved or lines.left:
            self.act(line)
        clock = self.look(line)
        if len(clock) == 1:  # its own time, which no line has seen yet
            return dict(clock)
        short = self._short(clock)
        if len(short) < len(clock):
            line.clock = dict(short)
        return short

    def wait(self, line: Line, clock: Clock) -> None:
        """Order a line's next work after all work of a clock."""
        self.begin(line)
        self.join(line.clock, clock)
        line.moves += 1  # lines that follow this line see that it has moved

    def waited_for(self, line: Line) -> Clock:
        """Return the work done once a host has waited for a line. The line is given no work."""
        found = self._short(self.look(line))
        if line is line.lines.default:
            for moved in line.lines.moved:
                self.join(found, self.look(moved))
            self.join(found, line.lines.left)
        return found

    def all_of(self, lines: Lines) -> Clock:
        """Return the work done once a host has waited for a device."""
        found = dict(lines.ended)
        for line in lines.all:
            self.join(found, self.look(line))
        return found

    def seen(self, clock: Clock) -> None:
        """Note that the host knows that all work of a clock is done."""
        self.join(self.host, clock)

    def end(self, line: Line) -> None:
        """Forget the line of a closed stream; its work may still have to be waited for."""
        line.lines.all.discard(line)
        self.lines.pop(line.number, None)
        line.conflicts += 1
        clock = self.look(line)
        if line in line.lines.moved:
            line.lines.moved.remove(line)
            self.join(line.lines.left, clock)
        self.join(line.lines.ended, self._short(clock))
        line.lines.ended = self._short(line.lines.ended)

    def disturb(self, number: int) -> None:
        """Note that another line uses memory of a line."""
        if (line := self.lines.get(number)) is not None:
            line.conflicts += 1

    def disturb_all(self) -> None:
        """Invalidate all known launches."""
        for line in self.lines.values():
            line.conflicts += 1

    # -- what is known -----------------------------------------------------------------------------------------------

    def orders(self, number: int, time: int, line: Line) -> bool:
        """Return whether work of a line's number and time is done before the next work of a line."""
        return line.clock.get(number, 0) >= time or self.host.get(number, 0) >= time

    def is_done(self, number: int, time: int) -> bool:
        """Return whether the host knows that such work is done."""
        return self.host.get(number, 0) >= time

    @staticmethod
    def join(clock: Clock, other: Clock) -> None:
        """Add all of other's times to clock."""
        for number, time in other.items():
            if clock.get(number, 0) < time:
                clock[number] = time

    def _short(self, clock: Clock) -> Clock:
        """Return a clock without the host's knowledge."""
        host = self.host
        return {number: time for number, time in clock.items() if host.get(number, 0) < time}
