"""callbacks: the completion of a stream's work, as a call whose errors are reported, or as a future of asyncio.

An exception that no caller could catch, such as a stream callback's, goes to sys.unraisablehook.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import ArgumentError

if TYPE_CHECKING:
    import asyncio

    from gridjit.runtime.queues.streams import Stream


def reporting(callback: Callable[[], Any]) -> Callable[[], None]:
    """Return a function that calls callback, and reports its error; raises ArgumentError unless it can be called."""
    if not callable(callback):
        raise ArgumentError(f"on_complete: {callback!r} cannot be called; give a function without parameters")

    def call() -> None:
        try:
            callback()
        except BaseException as error:
            report(error, f"a callback of a stream, {callback!r}")

    return call


def report(error: BaseException, where: str) -> None:
    """Report an error as Python does where it cannot be raised: to sys.unraisablehook, whatever that is.

    where: the source of the error, for the report.
    """
    # Python's own hook takes only objects that the interpreter itself makes, as for weak references' callbacks.
    ghost = _Ghost()
    reference = weakref.ref(ghost, _Raising(error, where))
    del ghost, reference


class _Ghost:
    """Is dropped."""

    __slots__ = ("__weakref__",)


class _Raising:
    """Raises an error when a referent goes; the report shows it as its text."""

    __slots__ = ("_error", "_where")

    def __init__(self, error: BaseException, where: str) -> None:
        self._error = error
        self._where = where

    def __call__(self, _: object) -> None:
        raise self._error

    def __repr__(self) -> str:
        return self._where


# How often to look at the stream itself: a driver does not call back after a kernel's error.
_LOOK_S = 0.1


def done(stream: Stream) -> asyncio.Future[Stream]:
    """Return a future of the running loop that is done when the work given to stream so far is.

    It has the exception of a failed kernel there. Raises RuntimeError without a running loop.
    """
    import asyncio  # few programs use it

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
