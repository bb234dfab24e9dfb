"""forks: how processes that compile are forked from one another, and end with the one that forked them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import warnings

_PR_SET_PDEATHSIG = 1


def fork() -> int:
    """Fork this process, as os.fork does, without a warning of threads: they are of a library that is made for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def end_with(parent: int) -> None:
    """Have this process end when its parent does, or now if that has ended already."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before
        os._exit(1)
