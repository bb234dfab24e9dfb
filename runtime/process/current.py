"""The current device: the memory, streams and events of the device that the calling thread's kernels run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.compiler.values.errors import ArgumentError, shown, switch
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import PER_THREAD, Event, Stream, Timeline, new_event, new_stream, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike
    from gridjit.runtime.memory.space import Space


def current_space() -> Space:
    """Return the memory of the current device."""
    return session().device(None).space


def space_of(ordinal: int) -> Space:
    """Return the memory of a CUDA device by its number; raises DeviceError if there is none."""
    from gridjit.runtime.devices.cuda.device import devices

    return devices()[ordinal].space


def current_timeline() -> Timeline:
    """Return the streams and events of the current device."""
    return session().device(None).timeline


def create_stream(*, priority: int = 0, nonblocking: bool = False, timeline: Timeline | None = None) -> Stream:
    """Return a new stream on the current device.

    priority: lower numbers run first; a number out of range becomes the nearest valid one. nonblocking: independent of
    the default stream.

        with gridjit.create_stream() as stream:
            kernel[grid, block](x)  # in stream
    """
    if not isinstance(priority, int):
        raise ArgumentError(f"create_stream(priority={shown(priority)}): give a whole number; lower ones run first")
    nonblocking = switch("create_stream: nonblocking", nonblocking)
    return new_stream(timeline or current_timeline(), priority=priority, nonblocking=nonblocking)


def create_event(*, timing: bool = True, timeline: Timeline | None = None) -> Event:
    """Return a new event on the current device.

    timing: whether elapsed_time() will be called on it.

        event = stream.record(gridjit.create_event())
        event.synchronize()
    """
    return new_event(timeline or current_timeline(), timing=switch("create_event: timing", timing))


def _own(function: str, timeline: Timeline | None) -> Timeline:
    """Return the given streams, or else the current device's; raises ArgumentError for anything else."""
    if timeline is None:
        return current_timeline()
    try:
        _ = timeline.epoch
    except AttributeError:
        raise ArgumentError(
            f"{function}({shown(timeline)}): it takes no stream or name; {function}() is the current device's, and "
            "`with stream:` makes another stream current"
        ) from None
    return timeline


def default_stream(timeline: Timeline | None = None) -> Stream:
    """Return the default stream, which is ordered with all blocking streams."""
    return Stream(_own("default_stream", timeline), 0, None)


def per_thread_default_stream(timeline: Timeline | None = None) -> Stream:
    """Return the calling thread's own default stream."""
    return Stream(_own("per_thread_default_stream", timeline), PER_THREAD, None)


def external_stream(ptr: StreamLike, timeline: Timeline | None = None) -> Stream:
    """Return a stream that another library owns, which gridjit never destroys.

    ptr: its handle, or the stream object of any library, which is kept alive.
    """
    return Stream(timeline or current_timeline(), stream_handle(ptr), None, owner=ptr)


def current_stream(timeline: Timeline | None = None) -> Stream:
    """Return the stream of launches and copies that name no stream: of the thread's innermost `with stream:`.

    Outside such a block, it is the default stream.
    """
    from gridjit.runtime.queues.chosen import here

    known = _own("current_stream", timeline)
    return here(known) or default_stream(known)


def synchronize() -> None:
    """Wait for all work on the current device; raises the error of a kernel."""
    current_timeline().synchronize_all()
