"""numba-cuda's contexts are read again by a first compile only where they may lack something."""

from __future__ import annotations

from tests.programs import run_python

PROGRAM = """
import gridjit
import numpy as np
from gridjit.compiler.frontend.narrow import contexts
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
compile_it, read = isolation._in_isolation, []

def isolated(*args):
    read.append(bool(cuda_target.target_context._registries))
    return compile_it(*args)

isolation._in_isolation = isolated

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


FORKED = """
import os
import threading
import gridjit
import numpy as np
from gridjit.compiler.frontend.narrow import contexts

def read_again(*args):
    read.append(True)
    really(*args)

read, contexts._read_again, really = [], read_again, contexts._read_again

@gridjit.jit(target="host", cache=False)
def kernel(x):
    x[0] = abs(x[0]) + 1

@gridjit.jit(target="host", cache=False)
def other(x):
    x[0] = abs(x[0]) + 2

def compiled_in_child():
    if child := os.fork():
        return os.waitpid(child, 0)
    x = np.full(1, -2.0)
    other[1, 1](x)
    print(x[0], bool(read), flush=True)
    os._exit(0)

kernel.compile("void(float64[::1])")
read.clear()
compiled_in_child()
go_on, begun = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: (begun.set(), go_on.wait()))
thread.start()
begun.wait()
compiled_in_child()
go_on.set()
thread.join()
"""


def test_a_child_reads_again_only_if_another_thread_was_there_that_may_have_been_reading() -> None:
    done = run_python("-W", "ignore::DeprecationWarning", "-c", FORKED)
    assert (done.stdout, done.stderr) == ("4.0 False\n4.0 True\n", "")
