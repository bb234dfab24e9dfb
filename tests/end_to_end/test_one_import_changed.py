"""Programs of numba-cuda's with one import changed, and nothing installed: what else they import runs here, too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

NUMBAS = """
from numba import guvectorize, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
import numba.cuda.vectorizers
"""
OURS = """
from gridjit import cuda
"""
PROGRAM = """
import json
import numpy as np

@vectorize(["float64(float64, float64)"], target="cuda")
def add(a, b): return a + b

@guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")
def total(x, out):
    for value in x: out[0] += value

@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)

states = create_xoroshiro128p_states(8, seed=1)
out = cuda.device_array(8, np.float32)
draw[1, 8](states, out)
drawn = out.copy_to_host()
print(json.dumps([add(np.ones(3), 1.0).tolist(), total(np.ones((2, 4))).tolist(), len({*drawn.tolist()}),
    isinstance(states, cuda.DeviceArray), draw.stats.compiles]))
"""
# What numba-cuda makes of a process without a driver, or of one with it.
OWN = """
import numpy as np
from numba.cuda.vectorizers import CUDAVectorize

def one(a): return a + 1

for make in (lambda: create_xoroshiro128p_states(8, seed=1), lambda: vectorize(["int64(int64)"], target="cuda")(one)):
    try:
        made = make()
    except Exception as error:
        made = error
    print(type(made).__module__.partition(".")[0])
print(CUDAVectorize(one).__class__.__mro__[1].__module__, CUDAVectorize.__name__)
"""


@pytest.mark.some(1)
@pytest.mark.each_value_once
@pytest.mark.parametrize("order", [(OURS, NUMBAS), (NUMBAS, OURS)], ids=["before", "after"])
@pytest.mark.parametrize(
    "new", [pytest.param(1, marks=pytest.mark.slow), 0], ids=["first process is new", "second process is new"]
)
def test_states_and_ufuncs_from_numbas_modules_run_on_the_host_and_from_the_cache(
    tmp_path: Path, order: tuple[str, str], new: int
) -> None:
    (tmp_path / "program.py").write_text("".join(order) + PROGRAM)
    environ = os.environ | {"GRIDJIT_TARGET": "host"}
    for compiles in (1, 0):
        if compiles == new:
            done = run_new_python(tmp_path / "program.py", env=environ | {"CUDA_VISIBLE_DEVICES": ""}, cwd=tmp_path)
        else:
            done = run_python(tmp_path / "program.py", env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [[2, 2, 2], [4, 4], 8, True, compiles]


def test_they_stay_numbas_own_where_kernels_run_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OURS + NUMBAS + OWN)
    done = run_python(tmp_path / "program.py", env=os.environ | {"GRIDJIT_TARGET": "cuda"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["numba", "numba", "numba.cuda.vectorizers", "CUDAVectorize"]
