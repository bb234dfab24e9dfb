"""attached: connects the checker to the devices' streams and memory, so that it learns of all their work.

Methods of these objects are replaced, so that all calls are seen, and unchecked programs pay nothing.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.hazards.checker import Checker
from gridjit.runtime.hazards.clocks import Clock
from gridjit.runtime.memory.copies import Array, address_of
from gridjit.runtime.memory.space import HOST_SPACE, Memory, Owners, Space
from gridjit.runtime.queues.attention import watchers
from gridjit.runtime.queues.streams import LEGACY, Timeline, stream_handle
from gridjit.runtime.queues.timeline import HOST


class _Own(threading.local):
    """The calling thread. quiet: its waits are not noted."""

    quiet = False


_own = _Own()
# The replaced attributes: the objects, and the names.
_replaced: list[tuple[Any, str]] = []


class AttachedChecker(Checker):
    """The checker, attached to devices."""

    def watch_timeline(self, timeline: Timeline) -> None:
        """Follow a device's streams and events from now on."""
        attach_to_timeline(self, timeline)

    def watch_space(self, space: Space) -> None:
        """Follow the uses of a device's memory from now on."""
        attach_to_space(self, space)


def begin() -> None:
    """Check from now on."""
    if not watchers:
        watching = AttachedChecker()
        watching.watch_timeline(HOST)
        watching.watch_space(HOST_SPACE)
        watchers.append(watching)


def end() -> None:
    """Stop checking, and forget launchers that live on."""
    for watcher in watchers:
        if isinstance(watcher, AttachedChecker):
            watcher.begin()
    watchers.clear()
    while _replaced:
        owner, name = _replaced.pop()
        vars(owner).pop(name, None)


def _replace(owner: Any, name: str, made: Callable[..., Any]) -> None:
    setattr(owner, name, made)
    _replaced.append((owner, name))


# -- streams and events ----------------------------------------------------------------------------------------------


def attach_to_timeline(checker: Checker, timeline: Any) -> None:
    """Tell the checker the order that a device's streams, events and waits make."""

    def after(name: str, note: Callable[..., None]) -> None:
        call = getattr(timeline, name)

        @functools.wraps(call)
        def called(*given: Any) -> Any:
            result = call(*given)
            note(*given)
            return result

        _replace(timeline, name, called)

    def waiting(name: str, what: Callable[..., Clock], *, asks: bool = False) -> None:
        """Note, once a wait is over, that earlier work is done. asks: the call asks and does not wait."""
        call = getattr(timeline, name)

        @functools.wraps(call)
        def called(*given: Any) -> Any:
            if _own.quiet:
                return call(*given)
            clock = what(*given)
            try:
                result = call(*given)
            except DeviceError:  # it cannot be waited for, so no wait took place
                raise
            except Exception:  # a kernel failed, so its stream's work has ended
                if not asks:
                    checker.seen(clock)
                raise
            if result is not False:
                checker.seen(clock)
            return result

        _replace(timeline, name, called)

    record, recorded = timeline.record, checker.recorded

    def records(event: int, stream: int) -> None:
        record(event, stream)
        recorded(timeline, event, stream)

    _replace(timeline, "record", records)
    after("wait", lambda stream, event: checker.waits(timeline, stream, event))
    after("destroy_stream", lambda stream: checker.closed(timeline, stream))
    after("destroy_event", checker.event_gone)
    waiting("synchronize", lambda stream: checker.of_stream(timeline, stream))
    waiting("done", lambda stream: checker.of_stream(timeline, stream), asks=True)
    waiting("synchronize_all", lambda: checker.of_all(timeline))
    waiting("synchronize_event", checker.of_event)
    waiting("event_done", checker.of_event, asks=True)
    call_back = timeline.call_back

    def called_back(stream: int, function: Callable[[], None]) -> None:
        clock = checker.at(timeline, stream)

        def come() -> None:
            checker.seen(clock)
            function()

        call_back(stream, come)

    _replace(timeline, "call_back", called_back)


# -- memory ----------------------------------------------------------------------------------------------------------


def attach_to_space(checker: Checker, space: Any) -> None:
    """Tell the checker of a device's memory: allocations, copies, fills and frees."""
    timeline = space.timeline
    allocate, write, read, read_later = space.allocate, space.write, space.read, space.read_later
    copy, fill, copy_from = space.copy, space.fill, space.copy_from

    def noted(stream: Any, what: str, written: Array | None, source: Array | None = None) -> int:
        handle = stream_handle(stream)
        checker.copy(timeline, handle, what, written, source)
        return handle

    def allocated(size: int, stream: Any) -> Memory:
        memory: Memory = allocate(size, stream)
        checker.allocated(timeline, stream_handle(stream), memory.address, memory.size)
        weakref.finalize(memory, checker.freed, memory.address, memory.size).atexit = False
        return memory

    def written(ghost: Array, values: Array, stream: Any, keep: Owners = ()) -> None:
        handle = noted(stream, "a copy from the host", ghost)
        clock = checker.of_stream(timeline, handle) if handle <= LEGACY else {}
        _quietly(write, ghost, values, stream, keep)
        checker.seen(clock)

    def has_read(ghost: Array, values: Array, stream: Any) -> None:
        handle = noted(stream, "a copy to the host", None, ghost)
        clock = checker.of_stream(timeline, handle) if _is_awaited(space, values, handle) else {}
        _quietly(read, ghost, values, stream)
        checker.seen(clock)

    def reads_later(ghost: Array, values: Array, stream: Any) -> None:
        noted(stream, "a copy to the host", None, ghost)
        read_later(ghost, values, stream)

    def copied(destination: Array, source: Array, stream: Any, keep: Owners = ()) -> None:
        noted(stream, "a copy", destination, source)
        _quietly(copy, destination, source, stream, keep)

    def filled(ghost: Array, value: int, stream: Any, keep: Owners = ()) -> None:
        noted(stream, "a fill", ghost)
        _quietly(fill, ghost, value, stream, keep)

    def copied_from(destination: Array, stream: Any, other: Space, source: Array, source_stream: Any) -> bool:
        done: bool = copy_from(destination, stream, other, source, source_stream)
        if done:
            noted(stream, "a copy from another device", destination)
        return done

    made: dict[str, Callable[..., Any]] = {
        "allocate": allocated,
        "write": written,
        "read": has_read,
        "read_later": reads_later,
        "copy": copied,
        "fill": filled,
        "copy_from": copied_from,
    }
    for name, function in made.items():
        _replace(space, name, function)


def _quietly(call: Callable[..., None], *given: Any) -> None:
    """Make a call whose waits are not noted: the host waits for some copies that a GPU does not wait for."""
    before, _own.quiet = _own.quiet, True
    try:
        call(*given)
    finally:
        _own.quiet = before


def _is_awaited(space: Any, values: Array, handle: int) -> bool:
    """Return whether a copy into a host array is done on return: always, except in a stream into page-locked memory."""
    return handle <= LEGACY or space.device is None or not space.whereabouts(address_of(values)).on_device
