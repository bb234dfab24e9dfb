"""Stream and Event: order and time of work on a device. On the host, launches and copies are done when they return.

Handles are destroyed once, when asked or when the object goes, never at interpreter exit; one whose context was reset
raises instead of touching another.
"""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gridjit.compiler.errors import ArgumentError, DeviceError
from gridjit.runtime.recorded import recorder_of

# Streams that always exist, as handles: the legacy default stream, and each thread's own.
LEGACY, PER_THREAD = 1, 2


class Timeline(Protocol):
    """A device's streams and events, by handle."""

    @property
    def epoch(self) -> int:
        """A number that changes when all handles die."""
        ...

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


class HostTimeline:
    """The host's streams and events. Work is done before the call that gave it returns, so streams are always idle."""

    epoch = 0

    def __init__(self) -> None:
        self._numbers = itertools.count(16)
        self._recorded: dict[int, int] = {}

    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int:
        """Return a number for a stream."""
        return next(self._numbers)

    def create_event(self, *, timing: bool = True) -> int:
        """Return a number for an event."""
        return next(self._numbers)

    def destroy_stream(self, stream: int) -> None:
        """Forget nothing: streams hold no state."""

    def destroy_event(self, event: int) -> None:
        """Forget when event was recorded."""
        self._recorded.pop(event, None)

    def synchronize(self, stream: int) -> None:
        """Return: all work is done."""

    def synchronize_all(self) -> None:
        """Return: all work is done."""

    def done(self, stream: int) -> bool:
        """Return True: all work is done."""
        return True

    def wait(self, stream: int, event: int) -> None:
        """Return: what event stands for is done."""

    def call_back(self, stream: int, function: Callable[[], None]) -> None:
        """Call function: all work before it is done."""
        function()

    def capturing(self, stream: int) -> bool:
        """Return False: the host has no graphs."""
        return False

    def record(self, event: int, stream: int) -> None:
        """Note the time."""
        self._recorded[event] = time.perf_counter_ns()

    def synchronize_event(self, event: int) -> None:
        """Return: what event stands for is done."""

    def event_done(self, event: int) -> bool:
        """Return True: what event stands for is done."""
        return True

    def elapsed_ms(self, start: int, end: int) -> float:
        """Return the milliseconds between two recordings."""
        if missing := {start, end} - self._recorded.keys():
            raise DeviceError(f"{len(missing)} of the two events {'was' if len(missing) == 1 else 'were'} not recorded")
        return (self._recorded[end] - self._recorded[start]) / 1e6


HOST: Timeline = HostTimeline()


class _Handle:
    """A handle with an owner: destroyed once, and good only as long as its context."""

    # _live: another object once the handle is destroyed; machine code that keeps a handle looks there before using it.
    __slots__ = ("__weakref__", "_destroy", "_epoch", "_live", "_number", "timeline")
    kind = "handle"

    def __init__(self, timeline: Timeline, number: int, destroy: Callable[[int], None] | None) -> None:
        self.timeline = timeline
        self._number = number
        self._epoch = timeline.epoch
        self._live = True
        self._destroy = None if destroy is None else weakref.finalize(self, destroy, number)
        if self._destroy is not None:
            self._destroy.atexit = False  # the driver may be gone by then, and its handles with it

    @property
    def handle(self) -> int:
        """The driver's handle, as an int; raises DeviceError if it was destroyed or its context was reset."""
        if not self.alive:
            raise DeviceError(f"this {self.kind} was destroyed; make another with create_{self.kind}()")
        if self.timeline.epoch != self._epoch:
            raise DeviceError(f"this {self.kind}'s context was reset; make another with create_{self.kind}()")
        return self._number

    @property
    def alive(self) -> bool:
        """Whether it was not destroyed."""
        return self._live is not False

    def close(self) -> None:
        """Destroy it, after the work it holds; more than once does no harm."""
        if self._destroy is None or not self._live:
            return
        self._live = False
        if self.timeline.epoch != self._epoch:
            self._destroy.detach()
        else:
            self._destroy()

    destroy = close

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        state = "" if self.alive else ", destroyed"
        return f"<gridjit {self.kind} 0x{self._number:x}{state}>"


class Event(_Handle):
    """A point in a stream's work: record it there, then wait for it, ask for it, or measure time from it."""

    __slots__ = ()
    kind = "event"

    def record(self, stream: Any = 0) -> Event:
        """Note what stream has been given so far; returns the event."""
        self.timeline.record(self.handle, stream_handle(stream))
        return self

    def wait(self, stream: Any = 0) -> None:
        """Make what comes next in stream wait for the event."""
        self.timeline.wait(stream_handle(stream), self.handle)

    def synchronize(self) -> None:
        """Wait until the event has happened."""
        self.timeline.synchronize_event(self.handle)

    def query(self) -> bool:
        """Return whether the event has happened."""
        return self.timeline.event_done(self.handle)

    def elapsed_time(self, later: Event) -> float:
        """Return the milliseconds from this event to a later one; both must have happened and keep the time."""
        return self.timeline.elapsed_ms(self.handle, later.handle)

    def __enter__(self) -> Event:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream(_Handle):
    """A queue of work: what is in one stream runs in order, what is in different ones may run at once."""

    __slots__ = ()
    kind = "stream"

    def synchronize(self) -> None:
        """Wait for all work in the stream; raises what a kernel in it did wrong."""
        self.timeline.synchronize(self.handle)

    def query(self) -> bool:
        """Return whether the stream has no work left."""
        return self.timeline.done(self.handle)

    def record(self, event: Event | None = None) -> Event:
        """Note in event (or a new one) what the stream has been given so far; returns it."""
        noted = new_event(self.timeline, timing=True) if event is None else event
        return noted.record(self)

    def wait(self, event: Event) -> None:
        """Make what comes next in the stream wait for event."""
        event.wait(self)

    def auto_synchronize(self) -> AbstractContextManager[Stream]:
        """Return a context manager that waits for the stream at its end."""
        return _Synchronized(self)

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Have callback(stream, 0, arg) called when the work given so far is done; it must not use the device."""
        self.timeline.call_back(self.handle, lambda: callback(self, 0, arg))

    def is_capturing(self) -> bool:
        """Return whether work in the stream is being captured into a graph."""
        return recorder_of(self.timeline, self.handle) is not None or self.timeline.capturing(self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, handle), as libraries that share streams ask for it."""
        return (0, self.handle)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        """Wait for the stream, and destroy it."""
        try:
            if failed is None:
                self.synchronize()
        finally:
            self.close()


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
    """Return a new event of a device's; timing: whether elapsed_time() is needed of it."""
    return Event(timeline, timeline.create_event(timing=timing), timeline.destroy_event)


def event_elapsed_time(start: Event, end: Event) -> float:
    """Return the milliseconds between two events that have happened."""
    return start.elapsed_time(end)


def stream_handle(stream: Any) -> int:
    """Return a stream's handle: 0 or None (the default stream), an int, or any library's stream object.

    Accepts gridjit's, anything with __cuda_stream__, torch's (.cuda_stream), CuPy's (.ptr) and numba-cuda's
    (.handle). Raises ArgumentError naming anything else, and DeviceError for a stream that was destroyed.
    """
    kind = type(stream)
    if kind is int:
        return _checked(stream)
    if stream is None:
        return 0
    if kind is Stream:
        return int(stream.handle)
    if not isinstance(stream, bool | Event) and (handle := _foreign(stream)) is not None:
        return _checked(handle)
    raise ArgumentError(
        f"stream {stream!r} is a {kind.__module__}.{kind.__qualname__}; give 0, a handle as an int, or a stream of "
        "gridjit, numba-cuda, torch, CuPy, or with __cuda_stream__"
    )


def _checked(handle: int) -> int:
    if not 0 <= handle < 1 << 64:
        raise ArgumentError(f"stream {handle} is not a handle; give 0 for the default stream")
    return handle


def _foreign(stream: Any) -> int | None:
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        version, handle = protocol() if callable(protocol) else protocol
        if version != 0:
            raise ArgumentError(f"stream {stream!r} has version {version} of __cuda_stream__; only 0 is supported")
        return int(handle)
    for name in ("cuda_stream", "ptr", "handle"):
        if (value := getattr(stream, name, None)) is not None:
            return _number(value)
    return None


def _number(value: Any) -> int | None:
    """Return a handle that is an int, a ctypes pointer (None inside: 0), or converts to an int."""
    if hasattr(value, "value"):
        return int(value.value or 0)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
