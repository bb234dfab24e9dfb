"""numba.cuda's vocabulary under gridjit's compiler: `from gridjit import cuda` for `from numba import cuda`.

Names are looked up in numba.cuda on first use, so importing this module imports no compiler.
"""

from __future__ import annotations

from typing import Any

from gridjit.runtime.jit import jit

__all__ = ["jit"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'gridjit.cuda' has no attribute {name!r}")
    from gridjit.compiler.frontend.bootstrap import numba_cuda

    try:
        return getattr(numba_cuda(), name)
    except AttributeError:
        raise AttributeError(f"module 'gridjit.cuda' has no attribute {name!r}") from None
