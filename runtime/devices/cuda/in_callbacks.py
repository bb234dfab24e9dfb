"""in_callbacks: what the garbage collector frees in a driver callback, which may not call it, goes later."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable


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
    """Call free now, or, in a callback, when the program next asks for what is freed so."""
    if _here.called:
        _later.append(free)
    else:
        free()


def free_waiting() -> None:
    """Call what had to wait."""
    while _later and not _here.called:
        try:
            free = _later.popleft()
        except IndexError:  # another thread was faster
            return
        free()
