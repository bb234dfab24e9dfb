"""What a kernel did wrong, told by whatever is called next; in processes of their own, as their contexts are lost."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.gpu

STRAYS = """
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def stray(x, by):
    x[cuda.grid(1) + by] = 1

@gridjit.jit
def innocent(x):
    x[0] = 1

def tell(call):
    try:
        call()
    except gridjit.LaunchError as error:
        print(error)
    else:
        print("nothing")

x = cuda.to_device(np.zeros(64, np.int64))
for _ in range(3):
    innocent[1, 1](x)
    stray[2, 32](x, 0)
cuda.synchronize()
stray[3, 32](x, 1 << 40)
for call in (
    cuda.synchronize,
    x.copy_to_host,
    lambda: cuda.to_device(np.zeros(4)),
    lambda: innocent[1, 1](x),
    cuda.synchronize,
):
    tell(call)
"""


def test_a_fatal_error_is_told_with_its_kernel_and_the_way_on_by_every_later_call(run_program):
    done = run_program(STRAYS)
    assert (done.returncode, done.stderr) == (0, "")
    first, *later = done.stdout.splitlines()
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in first
    assert "jit(debug=True, opt=False)" in first
    assert "__main__.stray [grid 3, block 32]" in first.partition("launched last: ")[2]
    assert len(later) == 4
    for line in later:
        assert "the device was lost to an earlier error; restart the process" in line, done.stdout
        assert "__main__.stray [grid 3, block 32]" in line, done.stdout


def test_the_same_under_debug_is_an_exception_and_the_device_goes_on(run_program):
    program = STRAYS.replace("@gridjit.jit\ndef stray", "@gridjit.jit(debug=True, opt=False)\ndef stray")
    program = program.replace("stray[3, 32](x, 1 << 40)", "tell(lambda: stray[3, 32](x, 1 << 40))")
    done = run_program(program.replace("gridjit.LaunchError", "(gridjit.LaunchError, IndexError)"))
    assert (done.returncode, done.stderr) == (0, "")
    first, *later = done.stdout.splitlines()
    assert "__main__.stray, tid=[" in first
    assert "index is out of bounds" in first
    assert later == ["nothing"] * 5
