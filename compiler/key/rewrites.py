"""The rewrites that extensions registered with numba-cuda: each may change any kernel's code."""

from __future__ import annotations

import sys
from typing import Any


def foreign_rewrites() -> tuple[tuple[str, type[Any]], ...]:
    """Return (kind, class) of each rewrite that is neither numba-cuda's nor gridjit's, without importing anything.

    In the order of kinds, then of registration, which is the order they are applied in. A process that has not
    imported numba-cuda cannot have registered any.
    """
    registry = getattr(sys.modules.get("numba.cuda.core.rewrites.registry"), "rewrite_registry", None)
    if registry is None:
        return ()
    return tuple(
        (kind, rewrite)
        for kind in sorted(registry.rewrites)
        for rewrite in registry.rewrites[kind]
        if not str(rewrite.__module__).startswith(("numba.", "numba_cuda.", "gridjit."))
    )
