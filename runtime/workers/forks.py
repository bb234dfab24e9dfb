"""forks: forked processes that compile, each of which ends with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import warnings

_PR_SET_PDEATHSIG = 1


def fork() -> int:
    """Fork this process, as os.fork does, without a warning of threads: their library allows forks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def end_with(parent: int) -> None:
    """End this process when its parent ends, or now if it has ended already."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before
        os._exit(1)
