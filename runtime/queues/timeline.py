"""HostTimeline: the host's streams and events, as runtime/queues/streams.py uses them.

The calling thread does the default stream's work, before the call returns; it begins when the blocking streams' earlier
work is done. Other threads do other streams' work, in order.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gridjit.base.forking import in_child, lock
from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.queues import attention

if TYPE_CHECKING:
    from gridjit.runtime.queues.queue import Mark, Queue, Queues, Wait
    from gridjit.runtime.queues.streams import Timeline

# Handles of the default stream and of each thread's own; the handles of other streams begin at the last number.
_LEGACY, _PER_THREAD, _FIRST = 1, 2, 16
# Priorities that streams may have, as on GPUs: from the lowest to the highest.
_PRIORITIES = (0, -5)
# How long the interpreter's end waits for streams' work.
_PATIENCE_S = 2.0


class _Own(threading.local):
    """The calling thread's own state. queue: its default stream's, once it is used."""

    queue: Queue | None = None


class HostTimeline:
    """The host's streams and events. Handles are numbers."""

    epoch = 0
    priorities = _PRIORITIES

    def __init__(self) -> None:
        self._numbers = itertools.count(_FIRST)
        self._last = _FIRST
        # Streams' priorities and kinds; their queues, once they have had work; events' times, or marks for later ones.
        self._streams: dict[int, tuple[int, bool]] = {}
        self._queues: dict[int, Queue] = {}
        self._events: dict[int, int | Mark | None] = {}
        self._untimed: set[int] = set()
        self._own = _Own()
        self._making = lock()
        self._made: list[Queues] = []

    # -- handles -----------------------------------------------------------------------------------------------------

    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int:
        """Return a number for a stream. Its priority is noted and not used: the host works on all streams at once."""
        number = self._number()
        low, high = _PRIORITIES
        self._streams[number] = (min(max(priority, high), low), nonblocking)
        return number

    def create_event(self, *, timing: bool = True) -> int:
        """Return a number for an event."""
        number = self._number()
        self._events[number] = None
        if not timing:
            self._untimed.add(number)
        return number

    def _number(self) -> int:
        number = self._last = next(self._numbers)
        return number

    def destroy_stream(self, stream: int) -> None:
        """Forget a stream; its work is still done."""
        self._streams.pop(stream, None)
        if (queue := self._queues.pop(stream, None)) is not None:
            from gridjit.runtime.queues.queue import CLOSED

            queue.note(CLOSED, True)

    def destroy_event(self, event: int) -> None:
        """Forget an event's time."""
        self._events.pop(event, None)
        self._untimed.discard(event)

    def outside(self, free: Callable[[], None]) -> None:
        """Call free: here, handles may go at any time."""
        free()

    def priority(self, stream: int) -> int:
        """Return the priority that a stream was made with."""
        return self._streams.get(stream, (0, False))[0]

    def blocking(self, stream: int) -> bool:
        """Return whether a stream is ordered with the default stream."""
        return not self._streams.get(stream, (0, False))[1]

    # -- giving work -------------------------------------------------------------------------------------------------

    def queued(self, stream: int) -> bool:
        """Return whether work in a stream waits its turn: it does in all but the default stream."""
        return stream > _LEGACY

    def word(self, stream: int) -> ctypes.c_int64 | None:
        """Return a number that is 0 while work in a queued stream would be done at once; None if there is none.

        Only the thread that has the GIL may rely on it, while it has the GIL.
        """
        if stream == _PER_THREAD:
            return None
        self._threads()
        return self._queue(stream).word

    def note_recorded(self, stream: int, holds: bool) -> None:
        """Make machine code leave launches in a queued stream to Python from now on; or no longer."""
        if stream > _LEGACY and stream != _PER_THREAD:
            from gridjit.runtime.queues.queue import RECORDED

            self._queue(stream).note(RECORDED, holds)

    def give(self, stream: int, work: Callable[[], object], *, brief: bool = False) -> None:
        """Do work in a stream's order: now in the default stream, else when its turn comes.

        brief: the calling thread does it if it is its turn. Raises work's error, or an earlier error of a stream that
        the default stream waits for.
        """
        if stream > _LEGACY:
            self._put(stream, work, brief=brief)
            return
        self.join()
        work()

    def do(self, stream: int, work: Callable[[], object]) -> None:
        """Do work in a stream's order, and return when it is done; raises the stream's first error."""
        self.give(stream, work, brief=True)
        if stream > _LEGACY:
            self.synchronize(stream)

    def keep(self, thing: object) -> None:
        """Keep thing, which is let go now, until all work so far in all streams is done."""
        if self._made and (queues := self._made[0]).busy:
            queues.keep(thing)

    def call_back(self, stream: int, function: Callable[[], None]) -> None:
        """Call function after stream's work so far."""
        self._put(stream, function)

    def wait(self, stream: int, event: int) -> None:
        """Make later work in stream wait for event; an event that was not recorded needs no wait."""
        mark = self._event(event)
        if mark is None:
            return
        if isinstance(mark, int) or mark.done:
            self._come_between(stream)
            return
        from gridjit.runtime.queues.queue import Wait

        self._put(stream, Wait(mark))

    def _come_between(self, stream: int) -> None:
        """Order blocking streams' work before and after an operation in the default stream that takes no time."""
        if stream <= _LEGACY and self._made and attention.busy():
            queues, default = self._made[0], self._queue(0)
            before = self._before(queues, default)
            if before:
                from gridjit.runtime.queues.queue import Wait

                queues.put(default, Wait(queues.mark(before)))

    def _put(self, stream: int, item: Callable[[], object] | Wait, *, brief: bool = False) -> None:
        queues, queue = self._threads(), self._queue(stream)
        before = self._before(queues, queue)
        from gridjit.runtime.queues.queue import Wait

        if any(other.served for other in before):
            queues.put(queue, Wait(queues.mark(before)), item)
        elif brief and not isinstance(item, Wait):
            queues.do(queue, item)
        else:
            queues.put(queue, item)

    def join(self) -> None:
        """Return when the default stream may go on; raises errors of the streams that it waits for."""
        if self._made and attention.busy():
            queues = self._made[0]
            blocking = [*self._blocking(queues), self._queue(0)]
            queues.wait(queues.mark([queue for queue in blocking if queues.other(queue)]))
            queues.raise_failure(self._failed(queues, blocking=True))

    # -- waiting for it ----------------------------------------------------------------------------------------------

    def synchronize(self, stream: int) -> None:
        """Wait for a stream; raises its first error."""
        if not self._made:
            self._check(stream)
            return
        queues, waited_for = self._made[0], self._waited_for(stream)
        queues.wait(queues.mark(waited_for))
        queues.raise_failure(waited_for)

    def synchronize_all(self) -> None:
        """Wait for all streams; raises the first error."""
        if self._made:
            queues = self._made[0]
            queues.wait(queues.mark([*queues.busy]))
            queues.raise_failure(self._failed(queues, blocking=False))

    def done(self, stream: int) -> bool:
        """Return whether a stream has no work left; raises its error."""
        if not self._made:
            self._check(stream)
            return True
        waited_for = self._waited_for(stream)
        self._made[0].raise_failure(waited_for)
        return not any(queue.served for queue in waited_for)

    def at_rest(self, stream: int) -> bool:
        """Return whether a stream has neither work left nor an error to raise."""
        if not self._made:
            self._check(stream)
            return True
        return not any(queue.served or queue.failure is not None for queue in self._waited_for(stream))

    def capturing(self, stream: int) -> bool:
        """Return False: only gridjit captures the host's streams."""
        return False

    # -- events ------------------------------------------------------------------------------------------------------

    def record(self, event: int, stream: int) -> None:
        """Record stream's work so far in event."""
        self._event(event)
        if not self._made:
            self._check(stream)
            self._events[event] = time.perf_counter_ns()
            return
        queues, queue = self._made[0], self._queue(stream)
        mark = queues.mark([queue, *self._before(queues, queue)])
        self._events[event] = mark.time or mark
        self._come_between(stream)

    def synchronize_event(self, event: int) -> None:
        """Wait until event came; raises its stream's error."""
        mark = self._event(event)
        if mark is not None and not isinstance(mark, int):
            self._made[0].wait(mark)
            self._made[0].raise_failure(mark.queues)

    def event_done(self, event: int) -> bool:
        """Return whether event came."""
        mark = self._event(event)
        return mark is None or isinstance(mark, int) or mark.done

    def elapsed_ms(self, start: int, end: int) -> float:
        """Return the milliseconds between two events; raises DeviceError unless both have come and keep the time."""
        return (self._time(end) - self._time(start)) / 1e6

    def _time(self, event: int) -> int:
        mark = self._event(event)
        if event in self._untimed:
            raise DeviceError(f"event 0x{event:x} was made without timing; make it with timing=True")
        if mark is None:
            raise DeviceError(f"event 0x{event:x} was not recorded; call its record(stream) first")
        if isinstance(mark, int):
            return mark
        if not mark.done:
            raise DeviceError(f"event 0x{event:x} has not happened yet; synchronize() it first")
        return mark.time

    def _event(self, event: int) -> int | Mark | None:
        try:
            return self._events[event]
        except KeyError:
            raise DeviceError(f"event 0x{event:x} was destroyed; make another with create_event()") from None

    # -- queues ------------------------------------------------------------------------------------------------------

    def _threads(self) -> Queues:
        if not self._made:
            from gridjit.runtime.queues.queue import Queues  # programs that use only the default stream do without

            with self._making:
                if not self._made:
                    self._made.append(Queues())
                    _settle_at_exit(self)
        return self._made[0]

    def _queue(self, stream: int) -> Queue:
        """Return a stream's queue; raises DeviceError for a destroyed stream."""
        stream = stream or _LEGACY
        known = self._queues.get(stream)
        if known is not None:
            return known
        self._check(stream)
        from gridjit.runtime.queues.queue import BEHIND, Queue

        if stream == _PER_THREAD:
            if self._own.queue is None:
                self._own.queue = Queue()
            return self._own.queue
        blocking = not self._streams.get(stream, (0, False))[1]
        made = self._queues.setdefault(stream, Queue(blocking=blocking, is_default=stream == _LEGACY))
        if blocking and not made.is_default:
            made.note(BEHIND, self._queue(0).served)
        return made

    def _check(self, stream: int) -> None:
        """Raise DeviceError for a stream that was destroyed, or never made."""
        if stream <= _PER_THREAD or stream in self._streams:
            return
        if _FIRST <= stream <= self._last:
            raise DeviceError(f"stream 0x{stream:x} was destroyed; make another with create_stream()")
        raise DeviceError(
            f"stream {stream} was never made: give what create_stream() returns; of a launch's [griddim, blockdim, "
            "stream, sharedmem], the bytes of shared memory come last"
        )

    def _blocking(self, queues: Queues) -> list[Queue]:
        return [queue for queue in [*queues.busy] if queue.blocking]

    def _before(self, queues: Queues, queue: Queue) -> list[Queue]:
        """Return the queues whose work comes before a queue's next work, by the rules of the default stream."""
        default = self._queue(0)
        if queue is default:
            return [other for other in self._blocking(queues) if other is not queue]
        return [default] if queue.blocking else []

    def _waited_for(self, stream: int) -> list[Queue]:
        """Return the queues that a wait for a stream waits for."""
        queue, queues = self._queue(stream), self._made[0]
        if queue is not self._queue(0):
            return [queue]
        failed = self._failed(queues, blocking=True)
        return list(dict.fromkeys([queue, *self._blocking(queues), *failed]))

    def _failed(self, queues: Queues, *, blocking: bool) -> Iterable[Queue]:
        return [queue for queue in [*queues.failed] if queue.blocking or not blocking]

    # -- the ends ----------------------------------------------------------------------------------------------------

    def settle(self, seconds: float = _PATIENCE_S) -> None:
        """Wait until all work is done, for so long at most; errors are not raised."""
        if self._made:
            self._made[0].settle(seconds)

    def end(self) -> None:
        """At the end of the interpreter: settle, and report errors that were not raised."""
        self.settle()
        if self._made:
            self._made[0].report_failures()

    def abandon(self) -> None:
        """In a forked child: drop the threads, and the parent's work."""
        if not self._made:
            return
        from gridjit.runtime.queues.queue import Queues

        parents = self._made[0]
        parents.abandon()
        self._made[0] = Queues()
        self._made[0].failed = {queue: False for queue in [*parents.failed, *parents.busy] if queue.failure is not None}
        attention.set_busy(sum(queue.blocking for queue in self._made[0].failed))


def _settle_at_exit(timeline: HostTimeline) -> None:
    # Running work would use memory that goes when the interpreter ends.
    import atexit

    if threading.main_thread().is_alive():
        atexit.register(timeline.end)
    else:  # a function at exit is the first to use a stream
        weakref.finalize(timeline, timeline.end)


HOST = HostTimeline()
in_child(HOST.abandon)

if TYPE_CHECKING:
    _timeline: type[Timeline] = HostTimeline
