"""Block-wide algorithms for numba-cuda kernels, as a library for tests has them.

What kernels call is in `blockwise.block` and `blockwise.thread`; submodules are imported when they are first used.
`blockwise._extension.init`, which numba finds as an entry point, registers what implements them.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "1.4.0"
_LAZY = ("block", "linked", "packing", "records", "thread")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"blockwise.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register() -> None:
    """Register all that implements the library with numba-cuda; a second call does nothing."""
    from blockwise._extension import init

    init()
