"""chosen: the stream that a thread, or a task of an event loop, has chosen with `with stream:`; each has its own.

A task that begins inside the block begins with the block's stream, as with Python's context variables.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gridjit.runtime.queues import attention

if TYPE_CHECKING:
    from gridjit.runtime.queues.streams import Stream, Timeline


class _Choice:
    """A stream that was chosen, and the choice before it. While one lives, machine code leaves launches to Python."""

    __slots__ = ("before", "stream")

    def __init__(self, stream: Stream, before: _Choice | None) -> None:
        self.stream = stream
        self.before = before
        attention.add_chosen(1)

    def __del__(self) -> None:
        attention.add_chosen(-1)


_choice: ContextVar[_Choice | None] = ContextVar("gridjit's current stream", default=None)


def choose(stream: Stream) -> None:
    """Make stream the current one."""
    _choice.set(_Choice(stream, _choice.get()))


def leave(stream: Stream) -> None:
    """Restore the stream before stream's last choice; later choices that were not left yet stay."""
    since: list[Stream] = []
    found = _choice.get()
    while found is not None and found.stream is not stream:
        since.append(found.stream)
        found = found.before
    if found is not None:
        left = found.before
        while since:
            left = _Choice(since.pop(), left)
        _choice.set(left)


def here(timeline: Timeline) -> Any:
    """Return the current stream of a device; 0, the default stream, if no stream of the device is chosen."""
    if not attention.chosen():
        return 0
    found = _choice.get()
    while found is not None and found.stream.timeline is not timeline:
        found = found.before
    return 0 if found is None else found.stream


def said_or_current(stream: Any, timeline: Timeline) -> Any:
    """Return stream, or the current stream of a device if none is named: None or 0."""
    return here(timeline) if stream is None or (type(stream) is int and stream == 0) else stream
