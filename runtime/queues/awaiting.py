"""awaiting: a stream's work as an awaitable of asyncio, while the loop's other tasks run."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridjit.runtime.queues.streams import Stream

# How often to look at the stream itself: a driver does not call back after a kernel's error.
_LOOK_S = 0.1


def done(stream: Stream) -> asyncio.Future[Stream]:
    """Return a future of the running loop that is done when the work given to stream so far is.

    It has the exception of a failed kernel there. Raises RuntimeError without a running loop.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Stream] = loop.create_future()

    def look() -> None:
        if future.done():
            return
        try:
            if stream.alive:
                stream.query()
        except Exception as error:
            future.set_exception(error)
        else:
            loop.call_later(_LOOK_S, look)

    def settle() -> None:
        look()
        if not future.done():
            future.set_result(stream)

    def come() -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be over
            loop.call_soon_threadsafe(settle)

    stream.on_complete(come)
    loop.call_later(_LOOK_S, look)
    return future
