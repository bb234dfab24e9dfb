"""Fifty declared kernels in a fresh process with an empty cache: compiled there, or in a pool of processes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAM = """
import json, os, sys, time
from pathlib import Path
import numpy, gridjit
sys.path.insert(0, sys.argv[1])
started, busy = time.perf_counter(), time.process_time()
from fifty_kernels import KERNELS
declared = time.perf_counter()
found = [one for kernel in KERNELS for one in kernel.specializations]
ended = time.perf_counter()
assert len(found) == 50
busy = time.process_time() - busy

def processor_time(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

pool = gridjit.runtime.process.session.session()._pool
if pool is not None and pool._server is not None:
    workers = Path(f"/proc/{pool._server}/task/{pool._server}/children").read_text().split()
    busy = processor_time(pool._server) + max(map(processor_time, workers))
print(json.dumps({
    "declared": declared - started,
    "ready": ended - started,
    "sum": sum(one.milliseconds for one in found) / 1e3,
    "compiles": sum(kernel.stats.compiles for kernel in KERNELS),
    "busy": busy,
}))
"""


def run(processes: int, target: str, served: dict[str, str] | None = None) -> dict[str, float]:
    """Return what one process took, with so many others that compile for it.

    served: the environment of a program that asks a compile server, with an empty cache; None without one.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **(served or {**os.environ, "GRIDJIT_CACHE_DIR": folder}),
            "GRIDJIT_TARGET": target,
            "GRIDJIT_COMPILE_PROCESSES": str(processes),
        }
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).resolve().parents[1])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def medians(times: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the medians of several runs."""
    return {name: statistics.median(run[name] for run in times) for name in times[0]}


def pooled_and_sum(processes: int, target: str, repeats: int) -> tuple[float, float]:
    """Return the wall seconds until fifty kernels are ready with a pool, and the sum of their compiles without one."""
    runs: dict[int, list[dict[str, float]]] = {0: [], processes: []}
    for _ in range(repeats):
        for number, times in runs.items():
            times.append(run(number, target))
    alone, pooled = (medians(times) for times in runs.values())
    return pooled["ready"], alone["sum"]
