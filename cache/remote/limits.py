"""Limits of a call to a remote cache, and the errors that its faults end as.

A call is bounded as a whole, also where a server drips a byte at a time, and in each wait for bytes.
"""

from __future__ import annotations

import contextlib
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator
from typing import TypeVar

from gridjit.base.interrupts import let_through
from gridjit.base.printable import printable
from gridjit.base.stacks import on_new_thread
from gridjit.base.values import dataclass
from gridjit.cache.errors import way_to_install
from gridjit.cache.remote.address import RemoteAddress

Value = TypeVar("Value")


class RemoteError(OSError):
    """A remote cache is not reached, does not answer in time, refuses, or answers nonsense."""


class MissingLibraryError(RemoteError):
    """The library that reaches a remote cache is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: until a connection stands (connect), of each wait for bytes (silence), of a call (whole)."""

    connect: float = 0.1
    silence: float = 0.1
    whole: float = 0.3


class Deadline:
    """The end of a call that may take some seconds from now on."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self, most: float = float("inf")) -> float:
        """Return the seconds left, or `most` if that is less; raises TimeoutError when none is left."""
        if (left := self._end - self._clock()) <= 0:
            raise TimeoutError("it took too long")
        return min(left, most)


@contextlib.contextmanager
def faults(address: RemoteAddress, *others: type[Exception]) -> Iterator[None]:
    """Raise each OSError of the block, and errors of the other classes, as a RemoteError that names the remote."""
    try:
        yield
    except RemoteError as error:
        let_through(error)
        raise
    except (OSError, *others) as error:  # type: ignore[misc]  # others are exceptions, as declared
        let_through(error)
        raise RemoteError(f"remote cache {address.shown}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return an error's words in one line."""
    if isinstance(error, TimeoutError):
        return str(error) if str(error).startswith("it ") else "no answer in time"
    said = getattr(error, "strerror", None) or str(error)
    return printable(f"{type(error).__name__}: {said}" if said else type(error).__name__)[:300]


def refused(address: RemoteAddress, why: str) -> RemoteError:
    """Return the error of a remote that answers something else than it should."""
    return RemoteError(f"remote cache {address.shown}: {printable(why)}")


def missing_library(address: RemoteAddress, library: str) -> MissingLibraryError:
    """Return the error of a remote whose library is not installed."""
    return MissingLibraryError(
        f"remote cache {address.shown}: needs {library}, which is not installed: {way_to_install('remote')}"
    )


def within(seconds: float, work: Callable[[], Value]) -> Value:
    """Return work(), done on a new thread; raises TimeoutError after these seconds, though the thread goes on.

    For calls of the system that have no timeout: name servers, files of a network file system.
    """
    results: list[Value] = []
    failed: list[BaseException] = []
    done = allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.release()

    try:
        on_new_thread(run)
    except RuntimeError as error:
        if "shutdown" in str(error):  # the interpreter is ending: nobody waits for this thread for long
            return work()
        raise TimeoutError("it needs a thread, and there is none to be had") from error
    if not done.acquire(timeout=max(0.0, seconds)):
        raise TimeoutError("it took too long")
    if failed:
        raise failed[0]
    return results[0]
