"""numba-cuda beside a NumPy without the names that NumPy 2.5 took away."""

from __future__ import annotations

import os

import pytest

from tests.programs import run_new_python

PROGRAM = """
import numpy as np
vars(np).pop("row_stack", None)
import gridjit
{first}
@gridjit.jit
def kernel(x):
    x[0] += 1

x = np.ones(1)
kernel[1, 1](x)
print(x[0], kernel.specializations[0].origin, hasattr(np, "row_stack"))
"""
EXTENDING = """
from numba.cuda import types
from numba.cuda.extending import make_attribute_wrapper

class Own(types.Type):
    pass

make_attribute_wrapper(Own, "x", "y")
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("first", ["", EXTENDING], ids=["gridjit", "an extension"])
def test_what_numba_cuda_needs_of_numpy_is_there_for_numba_cuda_alone(first: str) -> None:
    environment = {**os.environ, "GRIDJIT_TARGET": "host"}
    done = run_new_python("-W", "error::DeprecationWarning", "-c", PROGRAM.format(first=first), env=environment)
    assert (done.stdout, done.stderr) == ("2.0 compiled False\n", "")
