"""The entry point: registers everything once, in whichever thread is first."""

from __future__ import annotations

import threading

_LOCK = threading.Lock()
_done = False


def init() -> None:
    """Register everything; a second call does nothing."""
    global _done
    with _LOCK:
        if _done:
            return
        from blockwise import _block, _identity, _records, _rewrite, _thread  # noqa: F401

        _done = True
