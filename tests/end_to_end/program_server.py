"""Runs programs as processes of their own that need not import numba anew: each is forked from this one.

Reads a line of JSON for each, {"folder", "environment"}; runs main.py there; answers {"status", "output", "errors"}.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

import numpy  # noqa: F401 - what programs import

import gridjit  # noqa: F401
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.runtime import kernel  # noqa: F401


def serve() -> None:
    """Answer each line of standard input with one of standard output."""
    numba_cuda()
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), flush=True)


def answer(folder: str, environment: dict[str, str]) -> dict[str, object]:
    """Return how main.py in folder ended and what it printed."""
    with tempfile.TemporaryDirectory() as place:
        output, errors = Path(place, "output"), Path(place, "errors")
        child = os.fork()
        if not child:
            become(folder, environment, output, errors)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return {"status": status, "output": output.read_text(), "errors": errors.read_text()}


def become(folder: str, environment: dict[str, str], output: Path, errors: Path) -> None:
    """Run main.py as python does, and end."""
    for number, path in ((1, output), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(environment)
    os.chdir(folder)
    sys.dont_write_bytecode = True
    sys.argv[:], sys.path[0] = ["main.py"], folder
    status = 1
    try:
        runpy.run_path("main.py", run_name="__main__")
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve()
