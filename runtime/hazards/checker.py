"""Checker: tracks all work in streams, and refuses work that is not ordered after the work that it depends on.

The rules are GPUs' on both targets. A use of memory is a hazard if another stream's work wrote it, or reads it while
this use writes, and no event, wait, synchronization or default stream orders the two. Refused work was not added to its
stream.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gridjit.base.forking import in_child, lock, section
from gridjit.compiler.values.errors import HazardError
from gridjit.runtime.hazards.arguments import Passed, Quick, arguments_of, arrays_of, kinds_in_place
from gridjit.runtime.hazards.clocks import Clock, Clocks, Line, Lines
from gridjit.runtime.hazards.ranges import MemoryUse, Ranges, UsedMemory
from gridjit.runtime.hazards.repeats import NotedUse, Repeat, Repeats
from gridjit.runtime.hazards.work import Site, Work, hazard, here, host_hazard
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.attention import recorder_of, recorders
from gridjit.runtime.queues.streams import LEGACY, PER_THREAD, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.queues.streams import Timeline
    from gridjit.runtime.specializations.table import Specialization

# Memory that work uses: the piece, its name in the work, and whether the work may write it.
Used: TypeAlias = "tuple[UsedMemory | None, str, bool]"
# A stream: its timeline's id, its handle, and the thread of a thread's own default stream.
_Key = tuple[int, int, int]
_numbers = itertools.count(1)
# The most specializations whose arguments are remembered.
_MOST = 4096


class _Threads(threading.local):
    """The calling thread's number, given once; the interpreter reuses its numbers for later threads."""

    def __init__(self) -> None:
        self.number = next(_numbers)


_threads = _Threads()


class Checker:
    """The order of all streams' work, and its uses of memory."""

    def __init__(self) -> None:
        self._lock = lock()
        # Streams, events and memory may end at any moment, even within a method here. The ends wait for the next work.
        self.ended: deque[Callable[[], None]] = deque()
        self._known: dict[int, tuple[Specialization, tuple[Passed, ...]]] = {}
        self.clocks = Clocks()
        self._quick: dict[tuple[Any, ...], Quick] = {}
        self.begin()
        in_child(self.begin)

    def begin(self) -> None:
        """Forget everything: in a forked child, all streams are idle."""
        self.ended.clear()
        self._quick.clear()
        self.clocks.disturb_all()
        self.clocks = Clocks()
        self.ranges = Ranges(self._is_over)
        self._lines: dict[_Key, Line] = {}
        self._devices: dict[int, Lines] = {}
        self._events: dict[int, Clock] = {}

    # -- work --------------------------------------------------------------------------------------------------------

    def launch(self, launcher: Launcher, ready: Ready, packed: bytes, args: tuple[Any, ...]) -> None:
        """Note a launch with these parameters, or raise HazardError."""
        timeline, handle = ready.loaded.device.timeline, stream_handle(launcher.stream)
        arrays = self._arrays(launcher, ready)
        kinds = kinds_in_place(args)
        key = None if kinds is None else (id(launcher), *kinds)
        known = None if key is None else self._quick.get(key)
        if known is None or known.found is not ready.found or known.launcher() is not launcher:
            launcher.repeats = None  # they may be of another specialization
            if key is not None:
                places = arguments_of(launcher.kernel, arrays)
                self._quick[key] = Quick(weakref.ref(launcher), ready.found, timeline, places)
        if self._is_recorded(timeline, handle):
            return
        work = Work(launcher.kernel.py_func.__name__, handle, here())
        with section(), self._lock:
            self._give(timeline, work, [self._used(one, packed) for one in arrays])

    def knows(self, launcher: Launcher, args: tuple[Any, ...]) -> bool:
        """Note a launch with gridjit's arrays and numbers, of kinds launched before; return False for any other."""
        kinds = None if attention.chosen() else kinds_in_place(args)
        quick = None if kinds is None else self._quick.get((id(launcher), *kinds))
        if quick is None or quick.launcher() is not launcher:
            return False
        handle = stream_handle(launcher.stream)
        if not self._is_recorded(quick.timeline, handle):
            site, piece = Site(here()), self.ranges.piece
            work = Work(launcher.kernel.py_func.__name__, handle, site)
            with section(), self._lock:
                used = [(piece(args[at]._parameters), name, writes) for at, name, writes in quick.arrays]
                line = self._give(quick.timeline, work, used)
                if handle != PER_THREAD:  # in another thread, this handle is another stream
                    uses = zip(quick.arrays, used, strict=True)
                    noted = {at: (p, name, w) for (at, *_), (p, name, w) in uses if p is not None}
                    if len(noted) == len(used):
                        self._know_arrays(args, noted)
                        self._repeats(launcher, line, quick.timeline).add(Repeat(args, noted, line, work, site))
        return True

    def _know_arrays(self, args: tuple[Any, ...], noted: dict[int, NotedUse]) -> None:
        """Make memory known by a launch's arrays. Code may use an array of another type in another way."""
        for at, (piece, *_) in noted.items():
            array = args[at]
            if piece.kind is not array._kind:
                if piece.kind is not None:
                    self.clocks.disturb_all()
                piece.kind = array._kind
            piece.key = array._parameters  # equal bytes, now the same object

    def _repeats(self, launcher: Launcher, line: Line, timeline: Timeline) -> Repeats:
        """Return the record of a launcher's last launches, all of them in one line."""
        found = launcher.repeats
        if isinstance(found, Repeats) and found.line is line:
            return found
        unnamed = type(launcher.stream) is int and not launcher.stream

        def note(repeat: Repeat) -> bool:
            """Note a launch that is in order; return False if it must be checked or recorded."""
            if self._is_recorded(timeline, line.handle):
                return False
            with section(), self._lock:
                if repeat.conflicts != line.conflicts:
                    return False
                self.clocks.begin(line)
                self._note(line, repeat.work, repeat.uses)
                repeat.note(line)
            return True

        made = launcher.repeats = Repeats(line, self.ended, self.see_to_ends, note, unnamed=unnamed)
        return made

    def returned(self, launcher: Launcher, ready: Ready) -> None:
        """Note that a launch is done, as it has returned: it used host memory in place."""
        self.seen(self.of_stream(ready.loaded.device.timeline, stream_handle(launcher.stream)))

    def copy(self, timeline: Timeline, stream: int, what: str, written: Any, read: Any = None) -> None:
        """Note a copy or a fill between arrays of NumPy's, or ghosts; or raise HazardError."""
        if self._is_recorded(timeline, stream):
            return
        work = Work(what, stream, here())
        with section(), self._lock:
            found = [(read, False), (written, True)]
            self._give(timeline, work, [(self.ranges.piece_of(g), "", w) for g, w in found if g is not None])

    def used_in_place(self, ghost: Any) -> None:
        """Note that the host uses an array in place; raises HazardError if its last write was not waited for."""
        place = here()
        with section(), self._lock:
            self._see_to_ends()
            if (piece := self.ranges.piece_of(ghost)) is None:
                return
            for known in (piece, *piece.others):
                if known.write is not None and not self._is_over(known.write):
                    raise host_hazard(place, piece, known.write)

    def _arrays(self, launcher: Launcher, ready: Ready) -> tuple[Passed, ...]:
        found = self._known.get(id(ready.found))
        if found is None:
            if len(self._known) >= _MOST or len(self._quick) >= _MOST:
                self._known, self._quick = {}, {}
            found = self._known[id(ready.found)] = (ready.found, arrays_of(launcher.kernel, ready))
        return found[1]

    def _used(self, passed: Passed, packed: bytes) -> Used:
        name, start, end, size, writes = passed
        if size:
            return self.ranges.bytes_at(int.from_bytes(packed[start:end], "little"), size), name, writes
        return self.ranges.piece(packed[start:end]), name, writes

    def _give(self, timeline: Timeline, work: Work, used: Sequence[Used]) -> Line:
        """Give a stream work; raises HazardError if it is not ordered after earlier uses that it depends on."""
        line = self.line(timeline, work.stream)
        number = line.number
        before = self.clocks.before(line)
        self.clocks.begin(line)
        try:
            self._check_all(line, work, used)
        except HazardError:
            self.clocks.go_back(line, before)
            raise
        found = [(piece, name, writes) for piece, name, writes in used if piece is not None]
        for piece, _, writes in found:
            if (last := piece.write) is None or last.number != number or piece.reads or piece.others:
                self._disturb(number, piece, writes)
        self._note(line, work, found)
        return line

    def _disturb(self, number: int, piece: UsedMemory, writes: bool) -> None:
        """Invalidate other lines' launches if this line's use of memory must be ordered with theirs."""
        for known in (piece, *piece.others):
            if known.write is not None and known.write.number != number:
                self.clocks.disturb(known.write.number)
            if writes:
                for reader in known.reads:
                    if reader != number:
                        self.clocks.disturb(reader)

    def _note(self, line: Line, work: Work, used: Sequence[NotedUse]) -> None:
        """Note a line's work, and its uses."""
        line.moves += 1
        for piece, name, writes in used:
            piece.note(line.number, line.time, (work, name), writes=writes)

    def _check_all(self, line: Line, work: Work, used: Sequence[Used]) -> None:
        for piece, name, writes in used:
            if piece is not None:
                # This loop is most of a launch's cost: memory that the stream itself wrote last is not checked further.
                if (last := piece.write) is None or last.number != line.number or piece.reads:
                    self._check(line, work, piece, name, writes)
                for known in piece.others:
                    self._check(line, work, known, name, writes)

    def _check(self, line: Line, work: Work, piece: UsedMemory, name: str, writes: bool) -> None:
        number, orders, last = line.number, self.clocks.orders, piece.write
        if last is not None and last.number != number and not orders(last.number, last.time, line):
            raise hazard(work, name, piece, last, writes=writes, wrote=True)
        if writes and piece.reads:
            for read in piece.reads.values():
                if read.number != number and not orders(read.number, read.time, line):
                    raise hazard(work, name, piece, read, writes=True, wrote=False)

    def _is_recorded(self, timeline: Timeline, handle: int) -> bool:
        """Return whether a stream's work is recorded, not done: then a graph orders it."""
        if recorders and recorder_of(timeline, handle) is not None:
            return True
        return handle > PER_THREAD and timeline.capturing(handle)

    def _is_over(self, use: MemoryUse) -> bool:
        return self.clocks.is_done(use.number, use.time)

    # -- memory ------------------------------------------------------------------------------------------------------

    def allocated(self, timeline: Timeline, stream: int, address: int, size: int) -> None:
        """Note new memory: earlier uses of its bytes are over. If a stream is named, only its later work may use it."""
        with section(), self._lock:
            self._see_to_ends()
            self.ranges.forget(address, address + size)
            if stream > LEGACY and size:
                work = Work("its allocation", stream, here())
                self._give(timeline, work, [(self.ranges.bytes_at(address, size), "", True)])

    def freed(self, address: int, size: int) -> None:
        """Note that memory was freed; called by the garbage collector."""
        self.ended.append(lambda: self.ranges.forget(address, address + size))

    # -- order -------------------------------------------------------------------------------------------------------

    def line(self, timeline: Timeline, stream: int) -> Line:
        """Return a stream's line, made if it is new here."""
        if self.ended:
            self._see_to_ends()
        handle = stream or LEGACY
        key = (id(timeline), handle, _threads.number if handle == PER_THREAD else 0)
        if (known := self._lines.get(key)) is not None:
            return known
        lines = self._devices.get(key[0])
        if lines is None:
            lines = self._devices[key[0]] = self.clocks.new_lines(is_own=timeline.queued(PER_THREAD))
        made = lines.default
        if handle != LEGACY:
            if self.clocks.is_crowded():
                self._forget_the_ended()
            made = self.clocks.new_line(lines, handle, blocking=timeline.blocking(handle))
        self._lines[key] = made
        return made

    def _forget_the_ended(self) -> None:
        """Forget closed streams whose work can no longer be part of a hazard."""
        devices = [*self._devices.values()]
        lines = [line for device in devices for line in device.all]
        numbers = {use.number for use in self.ranges.uses()} | {line.number for line in lines}
        ended = [clock for device in devices for clock in (device.left, device.ended)]
        self.clocks.forget_all_but(numbers, [*(line.clock for line in lines), *ended, *self._events.values()])

    def see_to_ends(self) -> None:
        """Forget all ended objects, before anything else is noted."""
        with section(), self._lock:
            self._see_to_ends()

    def _see_to_ends(self) -> None:
        while self.ended:
            self.ended.popleft()()

    def closed(self, timeline: Timeline, stream: int) -> None:
        """Note that a stream was closed, at any moment."""

        def end() -> None:
            if (line := self._lines.pop((id(timeline), stream, 0), None)) is not None:
                self.clocks.end(line)

        self.ended.append(end)

    def begins_graph(self, timeline: Timeline, stream: int) -> None:
        """Note that a stream's work is recorded from now on: its launches are not done, so each is checked."""
        with section(), self._lock:
            self.line(timeline, stream).window += 1

    def gave(self, timeline: Timeline, stream: int) -> None:
        """Note that a stream was given work that uses unknown memory."""
        with section(), self._lock:
            self.clocks.act(self.line(timeline, stream))

    def recorded(self, timeline: Timeline, event: int, stream: int) -> None:
        """Note that an event stands for a stream's work so far; if a graph is recorded, only within the graph."""
        is_graphs = self._is_recorded(timeline, stream)
        with section(), self._lock:
            line = self.line(timeline, stream)
            if is_graphs:
                self._events.pop(event, None)
            else:
                self._events[event] = self.clocks.reached(line)

    def event_gone(self, event: int) -> None:
        """Note that an event was destroyed, at any moment."""

        def end() -> None:
            self._events.pop(event, None)

        self.ended.append(end)

    def waits(self, timeline: Timeline, stream: int, event: int) -> None:
        """Note that later work in a stream waits for an event; if a graph is recorded, only within the graph."""
        if self._is_recorded(timeline, stream):
            return
        with section(), self._lock:
            line = self.line(timeline, stream)
            if (clock := self._events.get(event)) is not None:
                self.clocks.wait(line, clock)

    def of_event(self, event: int) -> Clock:
        """Return the work done once an event has come."""
        with section(), self._lock:
            return self._events.get(event, {})

    def of_stream(self, timeline: Timeline, stream: int) -> Clock:
        """Return the work done once the host has waited for a stream."""
        with section(), self._lock:
            return self.clocks.waited_for(self.line(timeline, stream))

    def at(self, timeline: Timeline, stream: int) -> Clock:
        """Return the work done when a stream comes to an operation, given now, that uses no memory."""
        with section(), self._lock:
            return self.clocks.reached(self.line(timeline, stream))

    def of_all(self, timeline: Timeline) -> Clock:
        """Return the work done once the host has waited for a device."""
        with section(), self._lock:
            return self.clocks.all_of(self.line(timeline, LEGACY).lines)

    def seen(self, clock: Clock) -> None:
        """Note work that the host waited for."""
        with section(), self._lock:
            self.clocks.seen(clock)
