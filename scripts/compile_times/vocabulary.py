"""The `cuda` that the timed kernels are written in: numba-cuda's where the environment says so, or gridjit's."""

from __future__ import annotations

import os
from typing import Any

# Whose compiler a process times: "gridjit" or "numba".
PEER = os.environ.get("COMPILE_TIMES_PEER", "gridjit")


def _vocabulary() -> Any:
    if PEER == "numba":
        from numba import cuda

        return cuda
    from gridjit import cuda as ours

    return ours


cuda: Any = _vocabulary()
