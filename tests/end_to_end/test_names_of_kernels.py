"""cuda.fp16 and cuda.bf16, and functions that are taken from modules of gridjit.cuda, before anything is compiled."""

from __future__ import annotations

import os
from pathlib import Path

from tests.programs import run_python

PROGRAM = """
import numpy as np
from gridjit import cuda

fp16, bf16, libdevice = cuda.fp16, cuda.bf16, cuda.libdevice
hsin, ldca = cuda.fp16.hsin, cuda.ldca

@cuda.jit
def sines(x, out):
    i = cuda.grid(1)
    out[i, 0] = hsin(x[i]) - fp16.hsin(x[i]) + cuda.fp16.hsin(x[i])
    out[i, 1] = cuda.bf16.bfloat16_to_float32(bf16.htrunc(cuda.bf16.float32_to_bfloat16(np.float32(ldca(x, i)))))
    out[i, 2] = libdevice.floor(np.float64(x[i]))

x, out = np.array([0.5, -2.5], np.float16), np.zeros((2, 3), np.float32)
sines[1, 2](x, out)
np.testing.assert_allclose(out[:, 0], np.sin(x.astype(np.float32)), rtol=1e-3)
print(out[:, 1:].tolist(), sines.stats.compiles)
"""


def test_functions_of_small_floats_and_of_libdevice_may_be_named_before_the_first_compile(cache_dir: Path) -> None:
    environment = os.environ | {"GRIDJIT_TARGET": "host"}
    for compiles in (1, 0):
        done = run_python("-c", PROGRAM, env=environment)
        assert (done.stdout, done.stderr) == (f"[[0.0, 0.0], [-2.0, -3.0]] {compiles}\n", "")
