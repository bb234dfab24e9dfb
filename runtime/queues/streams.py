"""Stream and Event: order and time of work on a device.

Handles are destroyed once, on request or with their object, but never at interpreter exit. A handle whose context was
reset raises instead of reaching another context's. Handles of other owners are never destroyed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from gridjit.compiler.values.errors import ArgumentError, DeviceError, LaunchError, a_class, not_called, shown
from gridjit.runtime.queues.attention import recorder_of, recorders

if TYPE_CHECKING:
    import ctypes
    from asyncio import Future

    from gridjit.runtime.accepted import StreamLike

# Streams that always exist, as handles: the legacy default stream, and each thread's own.
LEGACY, PER_THREAD = 1, 2


class Timeline(Protocol):
    """A device's streams and events, by handle."""

    @property
    def epoch(self) -> int:
        """A number that changes when all handles die."""

    @property
    def priorities(self) -> tuple[int, int]:
        """The lowest and the highest priority that streams may have; lower numbers are higher priorities."""

    def queued(self, stream: int) -> bool:
        """Return whether work in a stream waits its turn in this process, so that only Python can give it."""

    def word(self, stream: int) -> ctypes.c_int64 | None:
        """Return a number that is 0 while work in the stream would be done at once; None without a number."""

    def outside(self, free: Callable[[], None]) -> None:
        """Call free, which destroys a handle, as soon as that is allowed."""

    def blocking(self, stream: int) -> bool:
        """Return whether a stream is ordered with the default stream."""

    def priority(self, stream: int) -> int: ...
    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int: ...
    def create_event(self, *, timing: bool = True) -> int: ...
    def destroy_stream(self, stream: int) -> None: ...
    def destroy_event(self, event: int) -> None: ...
    def synchronize(self, stream: int) -> None: ...
    def synchronize_all(self) -> None: ...
    def done(self, stream: int) -> bool: ...
    def wait(self, stream: int, event: int) -> None: ...
    def call_back(self, stream: int, function: Callable[[], None]) -> None: ...
    def capturing(self, stream: int) -> bool: ...
    def record(self, event: int, stream: int) -> None: ...
    def synchronize_event(self, event: int) -> None: ...
    def event_done(self, event: int) -> bool: ...
    def elapsed_ms(self, start: int, end: int) -> float: ...


class _Handle:
    """A handle with an owner: destroyed once, and valid only as long as its context."""

    # _live: another object once the handle is destroyed; machine code that keeps a handle reads it before using it.
    __slots__ = ("__weakref__", "_destroy", "_epoch", "_live", "_number", "owner", "timeline")
    kind = "handle"

    def __init__(
        self,
        timeline: Timeline | None = None,
        number: int | None = None,
        destroy: Callable[[int], None] | None = None,
        owner: Any = None,
    ) -> None:
        if timeline is None or number is None:
            made = f"gridjit.create_{self.kind}()"
            raise not_called(type(self).__name__, f"{made} makes {self.kind}s")
        self.timeline = timeline
        # The owner of a foreign handle, kept alive.
        self.owner = owner
        self._number = number
        self._epoch = timeline.epoch
        self._live = True
        self._destroy = (
            None if destroy is None else weakref.finalize(self, _destroy, timeline, self._epoch, destroy, number)
        )
        if self._destroy is not None:
            self._destroy.atexit = False  # the driver may be gone by then, and its handles with it

    @property
    def handle(self) -> int:
        """The driver's handle, as an int; raises DeviceError if it was destroyed or its context was reset."""
        if not self._live:
            raise DeviceError(
                f"this {self.kind} was destroyed: {self.kind} 0x{self._number:x} was closed; make another with "
                f"create_{self.kind}()"
            )
        if self.timeline.epoch != self._epoch:
            raise DeviceError(f"this {self.kind}'s context was reset; make another with create_{self.kind}()")
        return self._number

    @property
    def alive(self) -> bool:
        """Whether it was not destroyed."""
        return self._live is not False

    def close(self) -> None:
        """Destroy it once its work is done; closing twice does no harm.

        A handle of another owner is not destroyed, but can no longer be used through this object. The default streams
        cannot be closed.
        """
        if not self._live or self._number <= PER_THREAD:
            return
        self._live = False
        if self._destroy is not None:
            self._destroy()

    destroy = close

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        state = "" if self.alive else ", destroyed"
        return f"<gridjit {self.kind} 0x{self._number:x}{state}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: its handle is of this process and its context; make one where it is needed, "
            f"with create_{self.kind}()"
        )


def _destroy(timeline: Timeline, epoch: int, destroy: Callable[[int], None], number: int) -> None:
    """Destroy a handle, unless it ended with its context: its number may be another's by now."""

    def free() -> None:
        with suppress(DeviceError):  # a forked child cannot even call the driver
            if timeline.epoch == epoch:
                destroy(number)

    timeline.outside(free)


class Event(_Handle):
    """A point in a stream's work: record it there, then wait for it, query it, or measure time from it."""

    # _graphs: the stream that it was last recorded in, if a graph recorded that stream then.
    __slots__ = ("_graphs",)
    kind = "event"

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._graphs: int | None = None

    def record(self, stream: StreamLike = None) -> Event:
        """Record the stream's work so far (None: the thread's current stream); returns the event.

        In a stream that a graph records, it is a point of the graph, and nothing outside the graph can wait for it.
        """
        self._record(_handle_here(stream, self.timeline))
        return self

    def _record(self, handle: int) -> None:
        self.timeline.record(self.handle, handle)
        self._graphs = handle if recorders and recorder_of(self.timeline, handle) is not None else None

    def wait(self, stream: StreamLike = None) -> None:
        """Make the later work of a stream (None: the thread's current stream) wait for the event.

        On the host, raises LaunchError if only one of the two is in a graph that is being recorded.
        """
        handle = _handle_here(stream, self.timeline)
        if recorders or self._graphs is not None:
            self._check_wait(handle)
        self.timeline.wait(handle, self.handle)

    def _check_wait(self, handle: int) -> None:
        """Raise LaunchError for a wait that would be lost; a GPU's driver captures waits, and reports errors itself."""
        if self._graphs not in (None, handle) and not self.timeline.capturing(self._graphs or 0):
            self._awaitable()
        if self._graphs is None and recorder_of(self.timeline, handle) and not self.timeline.capturing(handle):
            raise LaunchError(
                f"stream 0x{handle:x} is being recorded into a graph, which does not wait for what is not in it: have "
                "the stream that the graph is launched in wait before the launch"
            )

    def synchronize(self) -> None:
        """Wait until the event has happened; raises LaunchError for an event in a stream that a graph recorded."""
        self.timeline.synchronize_event(self._awaitable())

    def query(self) -> bool:
        """Return whether the event has happened; raises as synchronize does."""
        return self.timeline.event_done(self._awaitable())

    def elapsed_time(self, evtend: Event) -> float:
        """Return the milliseconds from this event to evtend, a later one; both must have happened and keep the time."""
        return self.timeline.elapsed_ms(self._awaitable(), _event(evtend, "elapsed_time")._awaitable())

    def _awaitable(self) -> int:
        """Return the handle; raises LaunchError for an event that is a point of a graph: it has not happened."""
        if self._graphs is not None:
            raise LaunchError(
                f"{self!r} was recorded in a stream that a graph recorded: it is a point of the graph, and does not "
                "happen now; record it after the with block, in the stream that the graph is launched in"
            )
        return self.handle

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream(_Handle):
    """A queue of work: work in one stream runs in order, work in different streams may run at once.

    In a `with` block, it is the thread's current stream: launches, copies and events that do not name a stream use it.
    The end of the block, even by an exception, restores the previous stream; it neither waits for this stream nor
    destroys it.
    """

    __slots__ = ()
    kind = "stream"

    def synchronize(self) -> None:
        """Wait for all work in the stream; raises the error of a kernel in it, and LaunchError while it is recorded."""
        self.timeline.synchronize(self._awaitable())

    def query(self) -> bool:
        """Return whether the stream has finished all its work; raises as synchronize does."""
        return self.timeline.done(self._awaitable())

    def _awaitable(self) -> int:
        """Return the handle; raises LaunchError while a graph is recorded: the work is kept then, and not done."""
        handle = self.handle
        if recorders and recorder_of(self.timeline, handle) is not None:
            raise LaunchError(
                f"{self!r} is being recorded into a graph: its work is not done now, so nothing can wait for it; wait "
                "after the with block, for the stream that the graph is launched in"
            )
        return handle

    def record(self, event: Event | None = None) -> Event:
        """Record the stream's work so far, in event or a new event; returns the event."""
        noted = new_event(self.timeline, timing=True) if event is None else _event(event, "record")
        return noted.record(self)

    @property
    def priority(self) -> int:
        """Its priority: lower numbers come first."""
        return self.timeline.priority(self.handle)

    def wait(self, other: Event | StreamLike) -> None:
        """Make the stream's later work wait for an event, or for another stream's work so far.

        other: an Event, or a stream of any library; None or 0: the thread's current stream.
        """
        if isinstance(other, Event):
            other.wait(self)
        elif (theirs := _handle_here(other, self.timeline)) != self.handle:
            with new_event(self.timeline, timing=False) as event:
                event._record(theirs)
                event.wait(self)

    def auto_synchronize(self) -> AbstractContextManager[Stream]:
        """Return a context manager that waits for the stream at its end."""
        return _Synchronized(self)

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Call callback(stream, 0, arg) when the work so far is done; it must not use the device."""
        if not callable(callback):
            raise ArgumentError(
                f"add_callback: {shown(callback)} cannot be called; give a function of (stream, status, arg)"
            )
        self.on_complete(lambda: callback(self, 0, arg))

    def on_complete(self, callback: Callable[[], Any]) -> None:
        """Call callback(), in another thread, when the work so far is done; later work waits for it.

        It must not use the device. Its exceptions go to sys.unraisablehook. Raises LaunchError while the stream is
        recorded into a graph, which would not call it.
        """
        from gridjit.runtime.queues.callbacks import reporting

        self.timeline.call_back(self._awaitable(), reporting(callback))

    def done(self) -> Future[Stream]:
        """Return an awaitable for the work so far; its result is the stream.

        Other tasks of the event loop run meanwhile. Raises the error of a kernel, and RuntimeError outside an event
        loop.
        """
        from gridjit.runtime.queues.callbacks import done

        return done(self)

    async_done = done  # numba-cuda's name

    def is_capturing(self) -> bool:
        """Return whether work in the stream is being captured into a graph."""
        return recorder_of(self.timeline, self.handle) is not None or self.timeline.capturing(self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, handle), for libraries that share streams."""
        return (0, self.handle)

    def __enter__(self) -> Stream:
        from gridjit.runtime.queues.chosen import choose

        self.handle  # noqa: B018  # one that was closed is said to be here, not at the launch
        choose(self)
        return self

    def __exit__(self, *_: object) -> None:
        from gridjit.runtime.queues.chosen import leave

        leave(self)


class _Synchronized(AbstractContextManager[Stream]):
    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> Stream:
        return self._stream

    def __exit__(self, *_: object) -> None:
        self._stream.synchronize()


def new_stream(timeline: Timeline, *, priority: int = 0, nonblocking: bool = False) -> Stream:
    """Return a new stream of a device's; priority: lower runs first. nonblocking: independent of the default stream."""
    return Stream(timeline, timeline.create_stream(priority, nonblocking=nonblocking), timeline.destroy_stream)


def new_event(timeline: Timeline, *, timing: bool = True) -> Event:
    """Return a new event of a device's; timing: whether elapsed_time() will be called on it."""
    return Event(timeline, timeline.create_event(timing=timing), timeline.destroy_event)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the milliseconds from evtstart to evtend, two events that have happened."""
    return _event(evtstart, "event_elapsed_time").elapsed_time(evtend)


def stream_handle(stream: Any) -> int:
    """Return a stream's handle: 0 or None (the default stream), an int, or any library's stream object.

    Accepts gridjit's, any object with __cuda_stream__, torch's (.cuda_stream), CuPy's (.ptr) and numba-cuda's
    (.handle). Raises ArgumentError naming anything else, and DeviceError for a stream that was destroyed.
    """
    kind = type(stream)
    if kind is int:
        return _checked(stream)
    if stream is None:
        return 0
    if kind is Stream:
        return int(stream.handle)
    if not isinstance(stream, bool | Event):
        from gridjit.runtime.queues.foreign_streams import foreign_handle

        if (handle := foreign_handle(stream)) is not None:
            return _checked(handle)
    raise ArgumentError(
        f"stream {shown(stream)} is {a_class(kind)}; give 0, a handle as an int, or a stream of "
        "gridjit, numba-cuda, torch, CuPy, or with __cuda_stream__"
    )


def _event(given: Any, asked: str) -> Event:
    """Return a given event; raises ArgumentError for anything else."""
    if not isinstance(given, Event):
        raise ArgumentError(
            f"{asked}: {shown(given)} is {a_class(type(given))}, not an event; make one with create_event()"
        )
    return given


def _checked(handle: int) -> int:
    if not 0 <= handle < 1 << 64:
        raise ArgumentError(f"stream {handle} is not a handle; give 0 for the default stream")
    return handle


def _handle_here(stream: Any, timeline: Timeline) -> int:
    """Return a stream's handle; the thread's current stream's if none is named."""
    from gridjit.runtime.queues.chosen import said_or_current

    return stream_handle(said_or_current(stream, timeline))
