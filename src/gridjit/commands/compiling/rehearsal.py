"""rehearsal: a first compile for each kind of target, so that the work of a first compile is done before a fork.

The compiled code is of no use to anybody, and is kept nowhere.
"""

from __future__ import annotations

import contextlib
from typing import Any

from gridjit import cuda
from gridjit.compiler.numba_state.mark import numbas_own_text
from gridjit.compiler.targets.ptx.nvvm import compile_ptx
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.options import Options
from gridjit.runtime.devices import presence
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import end_session

_SIGNATURE = "void(float32[::1], float64[:,:], int64)"
# Of any GPU: what code for one needs is needed for the others.
_TARGETS = {"host": "host", "ptx": "sm_80"}
# A module for NVVM with nothing in it.
_NOTHING = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
define void @nothing() { ret void }
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
"""  # noqa: E501


def _played(x: Any, y: Any, n: Any) -> None:
    """A kernel with the parts of most kernels: a shared array, a loop, a barrier, a condition."""
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
    """Compile a kernel for a kind of target; do nothing if the target's needs are missing."""
    with contextlib.suppress(GridjitError):
        if kind == "ptx" and not presence.may_be_asked():
            # Not a kernel, as nvJitLink would start the driver: no child of this process could use it then.
            compile_ptx((_NOTHING,), _TARGETS[kind], Options())
        else:
            Kernel(_played, Options(), cache=False).compile(_SIGNATURE, target=_TARGETS[kind])
    numbas_own_text()  # a compile with callees asks for it
    end_session()
