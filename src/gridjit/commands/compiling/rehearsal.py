"""rehearsal: a first compile for each kind of target, so that what only a first one does has been done before a fork.

What it compiles is of no use to anybody, and is kept nowhere.
"""

from __future__ import annotations

import contextlib
from typing import Any

from gridjit import cuda
from gridjit.compiler.errors import GridjitError
from gridjit.compiler.frontend.kept.patches import numbas_own_text
from gridjit.compiler.options import Options
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.session import end_session

_SIGNATURE = "void(float32[::1], float64[:,:], int64)"
# Of any GPU: what code for one needs is needed for the others.
_TARGETS = {"host": "host", "ptx": "sm_80"}


def _played(x: Any, y: Any, n: Any) -> None:
    """A kernel of what most kernels are made of: a shared array, a loop, a barrier, a condition."""
    tile = cuda.shared.array(32, cuda.float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    tile[thread % 32] = x[i]
    cuda.syncthreads()
    total = 0.0
    for k in range(n):
        total += abs(y[k, i % n]) * tile[k % 32]
    if i < x.size:
        x[i] = max(min(total, 1.0), x[i])
        cuda.atomic.add(x, 0, 1)


def rehearse(kind: str) -> None:
    """Compile a kernel for a kind of target; without what that needs, nothing is done."""
    kernel = Kernel(_played, Options(), cache=False)
    with contextlib.suppress(GridjitError):
        kernel.compile(_SIGNATURE, target=_TARGETS[kind])
    numbas_own_text()  # a compile with callees asks for it
    end_session()
