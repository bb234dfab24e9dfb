"""Functions at exit may be the first to compile, to use a stream or to debug: all that is due at exit still comes."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import CompletedProcess

from tests.programs import run_new_python

PROGRAM = """
import atexit, threading
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def add(x):
    x[cuda.grid(1)] += 1

def launch():
    x = np.zeros(64)
    add[2, 32](x)
    print(x.sum())

def use_a_stream():
    stream = gridjit.create_stream()
    stream.on_complete(lambda: print(threading.Event().wait(0.5)))

def go_wrong():
    try:
        add[2, 32](np.zeros(63))
    except IndexError:
        print("handled")
"""


def ended(folder: Path, function: str, **settings: str) -> CompletedProcess[str]:
    """Run a program of which one function is called, at exit."""
    (folder / "program.py").write_text(f"{PROGRAM}\natexit.register({function})\n")
    given = {"GRIDJIT_CACHE_DIR": str(folder / "cache"), "GRIDJIT_TARGET": "host", **settings}
    return run_new_python(folder / "program.py", env={**os.environ, **given})


def test_a_first_launch_at_exit_says_nothing(tmp_path: Path) -> None:
    for _ in range(2):  # the second finds the kernel in the cache
        done = ended(tmp_path, "launch")
        assert (done.returncode, done.stdout, done.stderr) == (0, "64.0\n", "")


def test_the_interpreter_waits_for_a_stream_that_is_first_used_at_exit(tmp_path: Path) -> None:
    done = ended(tmp_path, "use_a_stream")
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_findings_at_exit_are_told_and_end_the_process_with_status_1(tmp_path: Path) -> None:
    done = ended(tmp_path, "go_wrong", GRIDJIT_DEBUG="1")
    assert (done.returncode, done.stdout) == (1, "handled\n")
    assert done.stderr.count("gridjit: ") == 1 and "program.py" in done.stderr
