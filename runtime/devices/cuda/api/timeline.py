"""CudaTimeline: a device's streams and events, as runtime/queues/streams.py uses them."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from gridjit.runtime.devices.cuda.api.calls import attributed
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.errors import LOST_CONTEXT, DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.queues.streams import Timeline

# Functions for the driver to call, by their numbers.
_pending: dict[int, Callable[[], None]] = {}
_numbers = itertools.count(1)


def _run_pending(number: int | None) -> None:
    if (function := _pending.pop(number or 0, None)) is not None:
        call(function)


_trampoline = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_run_pending)


class CudaTimeline:
    """Streams and events of one device. Handles are the driver's, as ints."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device

    @property
    def driver(self) -> Driver:
        """The device's driver."""
        return self.device.driver

    @property
    def epoch(self) -> int:
        """A number that changes when the context is reset, which ends all handles."""
        return self.device.context_id

    @property
    def priorities(self) -> tuple[int, int]:
        """The lowest and the highest priority that streams may have."""
        with self.device.current:
            return self.driver.priorities()

    def priority(self, stream: int) -> int:
        """Return a stream's priority."""
        with self.device.current:
            return self.driver.stream_priority(stream)

    def blocking(self, stream: int) -> bool:
        """Return whether a stream is ordered with the default stream."""
        with self.device.current:
            return self.driver.stream_blocks(stream)

    def queued(self, stream: int) -> bool:
        """Return False: the driver keeps the order."""
        return False

    def outside(self, free: Callable[[], None]) -> None:
        """Call free, which calls the driver, once that is allowed: not in its callbacks."""
        outside(free)

    def word(self, stream: int) -> ctypes.c_int64 | None:
        """Return None: no work of the driver's waits for Python."""
        return None

    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int:
        """Return a new stream."""
        free_waiting()
        self.device.renew()
        with self.device.current:
            return self.driver.create_stream(priority, nonblocking=nonblocking)

    def create_event(self, *, timing: bool = True) -> int:
        """Return a new event."""
        free_waiting()
        self.device.renew()
        with self.device.current:
            return self.driver.create_event(timing=timing)

    def destroy_stream(self, stream: int) -> None:
        """Destroy a stream, unless its context ended and destroyed it."""
        _quietly(self.driver.destroy_stream, stream)

    def destroy_event(self, event: int) -> None:
        """Destroy an event, unless its context ended and destroyed it."""
        _quietly(self.driver.destroy_event, event)

    def synchronize(self, stream: int) -> None:
        """Wait for a stream; raises KernelError naming the kernel that was launched last in it."""
        with self.device.current, attributed(stream, self.device.ordinal):
            self.driver.synchronize_stream(stream)

    def synchronize_all(self) -> None:
        """Wait for the device; raises KernelError naming the kernels that were launched last."""
        with self.device.current, attributed(None, self.device.ordinal):
            self.driver.synchronize()

    def done(self, stream: int) -> bool:
        """Return whether a stream has no work left."""
        with self.device.current, attributed(stream, self.device.ordinal):
            return self.driver.stream_done(stream)

    def wait(self, stream: int, event: int) -> None:
        """Make later work in stream wait for event."""
        with self.device.current:
            self.driver.wait_event(stream, event)

    def call_back(self, stream: int, function: Callable[[], None]) -> None:
        """Call function from the driver after stream's work so far; function must not use the device."""
        number = next(_numbers)
        _pending[number] = function
        try:
            with self.device.current:
                self.driver.call_back(stream, _trampoline, number)
        except DriverError:
            del _pending[number]
            raise

    def capturing(self, stream: int) -> bool:
        """Return whether work in stream is being captured; False in a context that was reset."""
        try:
            with self.device.current:
                return self.driver.stream_capturing(stream)
        except DriverError as error:
            if error.name not in LOST_CONTEXT:
                raise
            return False

    def record(self, event: int, stream: int) -> None:
        """Record stream's work so far in event."""
        with self.device.current:
            self.driver.record_event(event, stream)

    def synchronize_event(self, event: int) -> None:
        """Wait for the work noted in event."""
        with attributed(None, self.device.ordinal):
            self.driver.synchronize_event(event)

    def event_done(self, event: int) -> bool:
        """Return whether the work noted in event is done."""
        with attributed(None, self.device.ordinal):
            return self.driver.event_done(event)

    def elapsed_ms(self, start: int, end: int) -> float:
        """Return the milliseconds between two events."""
        return self.driver.elapsed_ms(start, end)


def _quietly(call: Callable[[int], None], handle: int) -> None:
    with contextlib.suppress(DriverError):
        call(handle)


if TYPE_CHECKING:
    _timeline: type[Timeline] = CudaTimeline


class _Here(threading.local):
    """Whether the calling thread is in a driver callback."""

    called: bool = False


_here = _Here()
_later: deque[Callable[[], None]] = deque()


def call(function: Callable[[], None]) -> None:
    """Call function as the driver's callback."""
    _here.called = True
    try:
        function()
    finally:
        _here.called = False


def outside(free: Callable[[], None]) -> None:
    """Call free now, or, in a callback, before the next allocation."""
    if _here.called:
        _later.append(free)
    else:
        free()


def free_waiting() -> None:
    """Call the waiting functions."""
    while _later and not _here.called:
        try:
            free = _later.popleft()
        except IndexError:  # another thread was faster
            return
        free()
