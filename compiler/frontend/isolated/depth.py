"""depth: how deep Python may recurse in a compile: numba-cuda recurses some thirty frames for a callee of a callee."""

from __future__ import annotations

import contextlib
import functools
import sys

from gridjit.compiler.frontend.bindings.replacing import on_undo

# Frames: enough for chains of a hundred device functions, and small beside a thread's stack.
_ENOUGH = 5000


def allow_depth() -> None:
    """Have Python recurse deep enough for chains of callees, until the changes are undone."""
    before = sys.getrecursionlimit()
    if before < _ENOUGH:
        on_undo(functools.partial(_limit_again, before))
        sys.setrecursionlimit(_ENOUGH)


def _limit_again(limit: int) -> None:
    # Python refuses it to who is deeper than that; the next compile tries again.
    with contextlib.suppress(RecursionError):
        sys.setrecursionlimit(limit)
