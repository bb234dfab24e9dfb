"""Scenarios with a compile server: a program that asks it, and the same program without, as its user sees both.

Wall time, as the work is done in another process. What a program compiles is timed from the call, with gridjit, NumPy
and the kernel's module imported before; without a server, that includes the import of the compiler.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compile_times import fifty
from compile_times.chains import wide
from compile_times.processes import environment_of

_PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy, gridjit
from made_served import kernel
started = time.perf_counter()
kernel.compile("void(float64[::1], float64[::1])", target=sys.argv[2])
took = time.perf_counter() - started
(found,) = kernel.specializations
print(json.dumps({"seconds": took, "origin": found.origin}))
"""
_MANY = 32


def one_edited_served(repeats: int, target: str = "sm_80") -> tuple[float, float]:
    """Return the seconds that a program waits after one of 32 device functions was edited, and for the whole compile.

    The first with a compile server, the second without one and with an empty cache.
    """
    whole, part = [], []
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name, "cache")
        with compile_server(environment_of(cache, folder / "bytecode"), processes=1):
            for number in range(-1, repeats):  # the first only writes the modules' bytecode
                shutil.rmtree(cache, ignore_errors=True)
                times = [
                    _seconds(folder, cache, target, edited, served=served)
                    for edited, served in ((-1, False), (_MANY // 2, True))
                ]
                if number >= 0:
                    whole.append(times[0])
                    part.append(times[1])
    return statistics.median(part), statistics.median(whole)


def fifty_declared_served(repeats: int, alone: float) -> tuple[float, float]:
    """Return the seconds until fifty declared kernels are ready with a compile server of two processes, and alone."""
    ready = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            asked = {**os.environ, "GRIDJIT_CACHE_DIR": folder, "GRIDJIT_COMPILE_SERVER": "1"}
            with compile_server(asked, processes=2):
                ready.append(fifty.run(2, "host", asked)["ready"])
    return statistics.median(ready), alone


@contextlib.contextmanager
def compile_server(environment: dict[str, str], processes: int) -> Iterator[None]:
    """Have a compile server, which is ready, for programs with this environment."""
    command = [sys.executable, "-m", "gridjit", "serve", "--jobs", str(processes)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            while "ready" not in (line := server.stdout.readline()):
                assert line, "the compile server ended"
            yield
        finally:
            server.kill()


def _seconds(folder: Path, cache: Path, target: str, edited: int, *, served: bool) -> float:
    (folder / "made_served.py").write_text(wide(_MANY, edited=edited))
    asked = environment_of(cache, folder / "bytecode") | {"GRIDJIT_COMPILE_SERVER": str(int(served))}
    command = [sys.executable, "-c", _PROGRAM, str(folder), target]
    told = json.loads(subprocess.run(command, env=asked, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert told["origin"] == ("served" if served else "compiled"), told
    return float(told["seconds"])
