"""What a process may do before it forks others that use the GPU: CUDA refuses the children of one that asked it."""

from __future__ import annotations

import os

from tests.programs import run_python

PROGRAM = """
from gridjit.runtime.devices import presence

def asked():
    raise AssertionError("the driver was asked")

presence.why_not = presence.device_count = asked

import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(device=True)
def root(x):
    return cuda.libdevice.sqrt(x)

@gridjit.jit
def kernel(x, n):
    tile = cuda.shared.array(32, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = cuda.ldca(x, i) if i < n else cuda.float32(0)
    cuda.syncthreads()
    cuda.atomic.add(x, 0, root(cuda.shfl_xor_sync(-1, tile[31 - t], 1)))
    if cuda.laneid == 0:
        cuda.cg.this_grid().sync()

kernel.compile("void(float32[::1], int64)", target="sm_90")
print(kernel.stats.compiles)
"""


def test_a_process_that_compiled_for_an_architecture_can_fork_others_that_use_the_gpu(tmp_path):
    done = run_python("-c", PROGRAM, env={**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path)})
    assert done.stdout == "1\n", done.stderr
