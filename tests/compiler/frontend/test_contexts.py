"""numba-cuda's contexts are read again by a first compile only where they may lack something."""

from __future__ import annotations

from tests.programs import run_python

PROGRAM = """
import gridjit
import numpy as np
from gridjit.compiler.frontend.isolated import contexts
from numba.cuda.descriptor import cuda_target

def read_again(*_):
    read.append(True)

def makes() -> list[bool]:
    contexts.contexts_may_be_half_read()
    contexts.make_contexts()
    read.clear()
    contexts.mend_contexts()
    return read

read, contexts._read_again, really = [], read_again, contexts._read_again
assert makes(), "numba-cuda made these, perhaps not to the end"
cuda_target._typingctx = cuda_target._targetctx = None
assert not makes()

@gridjit.jit(target="host", cache=False)
def kernel(x):
    x[0] = abs(x[0]) + 1

contexts._read_again, x = really, np.full(1, -2.0)
kernel[1, 1](x)
print(x[0])
"""


def test_contexts_that_were_just_made_lack_nothing_and_compile() -> None:
    done = run_python("-c", PROGRAM)
    assert (done.stdout, done.stderr) == ("3.0\n", "")


UNREAD = """
import gridjit
import numpy as np
from gridjit.compiler.frontend.isolated import isolation
from numba.cuda.descriptor import cuda_target

cuda_target._typingctx = cuda_target._targetctx = None
assert not cuda_target.target_context._registries, "importing numba-cuda's 16-bit floats gets as far"
compile_it, read = isolation._isolated, []

def isolated(*args):
    read.append(bool(cuda_target.target_context._registries))
    return compile_it(*args)

isolation._isolated = isolated

@gridjit.jit(target="host", cache=False)
def kernel(x):
    x[0] = abs(x[0]) + 1

x = np.full(1, -2.0)
kernel[1, 1](x)
print(x[0], read)
"""


def test_contexts_that_are_there_but_have_read_nothing_read_all_before_a_compile_begins() -> None:
    done = run_python("-c", UNREAD)
    assert (done.stdout, done.stderr) == ("3.0 [True]\n", "")
