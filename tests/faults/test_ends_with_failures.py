"""Programs that end without having waited for a stream in which a kernel went wrong: it is shown, and shown once."""

from __future__ import annotations

import os

from tests.programs import run_python

FAILS = """
import os
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(debug=True, opt=False)
def fails(x):
    if x[0] == 0:
        raise ValueError("the kernel said so")

stream = gridjit.create_stream()
x = cuda.to_device(np.zeros(1))
cuda.synchronize()
fails[1, 1, stream](x)
"""


def test_what_a_kernel_did_wrong_is_shown_at_the_end_of_a_program_that_waits_for_nothing() -> None:
    done = run_python("-c", FAILS, env=_on_host())
    assert done.returncode == 0
    assert "Exception ignored in: work in a stream that nobody waited for" in done.stderr
    assert "ValueError" in done.stderr and "the kernel said so" in done.stderr


def test_what_a_kernel_did_wrong_is_told_once_and_not_at_the_end_again() -> None:
    waits = "\ntry:\n    stream.synchronize()\nexcept ValueError:\n    print('told')\n"
    done = run_python("-c", FAILS + waits, env=_on_host())
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", "")


def test_a_forked_child_does_not_show_at_its_end_what_only_its_parent_was_doing() -> None:
    program = """
import os, sys, threading, warnings
import gridjit

warnings.simplefilter("ignore", DeprecationWarning)  # it has threads, and forks

stream, gate = gridjit.create_stream(), threading.Event()
stream.on_complete(gate.wait)
if os.fork() == 0:
    sys.exit(0)
_, status = os.wait()
gate.set()
stream.synchronize()
print(os.waitstatus_to_exitcode(status))
"""
    done = run_python("-c", program, env=_on_host())
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def _on_host() -> dict[str, str]:
    return {**os.environ, "GRIDJIT_TARGET": "host"}
