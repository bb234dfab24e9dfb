"""joining: LLVM modules become one, for either target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def joined(modules: Iterable[Any]) -> Any:
    """Return the first module with the others linked into it (they are consumed); raises RuntimeError as LLVM says."""
    first, *others = modules
    for other in others:
        # LLVM frees it. Its wrapper is told first, because an interrupt may come right after LLVM's function.
        other._owned = True
        first.link_in(other)
    return first
