"""The rewrites that extensions registered with numba-cuda: each may change any kernel's code."""

from __future__ import annotations

import sys
from typing import Any


def foreign_rewrites() -> tuple[type[Any], ...]:
    """Return the registered rewrite classes that are neither numba-cuda's nor gridjit's, without importing anything.

    A process that has not imported numba-cuda cannot have registered any.
    """
    registry = sys.modules.get("numba.cuda.core.rewrites.registry")
    if registry is None:
        return ()
    registered = registry.rewrite_registry.rewrites
    return tuple(
        rewrite
        for kind in sorted(registered)
        for rewrite in registered[kind]
        if not rewrite.__module__.startswith(("numba.", "numba_cuda.", "gridjit."))
    )
