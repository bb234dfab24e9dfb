#!/usr/bin/env python3
"""Measure a cold start: many processes meet one kernel that nobody has compiled, against one process that does.

All processes import what they need and make their arguments, then wait; the time runs from the moment when they are
let go until the last has its result. Exit status 1 if any result was wrong or the kernel was compiled more than once.

python scripts/bench-cold-start.py [--processes 64] [--repeats 3] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Says when it is ready, waits to be told, launches, and says what it did.
PROGRAM = """
import json, sys
import gridjit
import numpy as np
from gridjit import cuda

@gridjit.jit
def block_sum(x, out):
    tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[thread] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = gridjit.static.blockDim.x // 2
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]

x, out = np.ones(1000, np.float32), np.zeros(8, np.float32)
print("ready", flush=True)
sys.stdin.readline()
block_sum[8, 128](x, out)
print(json.dumps({"right": bool(out.sum() == 1000), "compiles": block_sum.stats.compiles}), flush=True)
sys.stdin.readline()
"""


def main() -> None:
    """Print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="write the results as JSON to this file")
    options = parser.parse_args()
    one, many, compiles = [], [], []
    with tempfile.TemporaryDirectory() as bytecode:
        # Modules are loaded as where gridjit is installed: from bytecode, which the first process writes.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        cold_start(1)
        for _ in range(options.repeats):
            one.append(cold_start(1)[0])
            seconds, compiled = cold_start(options.processes)
            many.append(seconds)
            compiles.append(compiled)
    median_one, median_many = statistics.median(one), statistics.median(many)
    print(f"1 process                {median_one:8.2f} s")
    print(f"{options.processes} processes{'':14}{median_many:8.2f} s, compiles: {', '.join(map(str, compiles))}")
    print(f"ratio                    {median_many / median_one:8.2f}   goal: 2, with a core for each process")
    if options.output:
        options.output.write_text(json.dumps({"one": one, "many": many, "compiles": compiles, "cores": os.cpu_count()}))
    raise SystemExit(0 if set(compiles) == {1} else 1)


def cold_start(processes: int) -> tuple[float, int]:
    """Return the seconds until the last of so many processes had its result, and how often they compiled."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(PROGRAM)
        environment = {
            **os.environ,
            "GRIDJIT_CACHE_DIR": f"{folder}/cache",
            "GRIDJIT_TARGET": "host",
            "GRIDJIT_HOST_THREADS": "1",
        }
        started = [
            subprocess.Popen(
                [sys.executable, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for _ in range(processes)
        ]
        try:
            return timed(started)
        finally:
            for process in started:
                process.kill()
                process.communicate()


def timed(started: list[subprocess.Popen[str]]) -> tuple[float, int]:
    """Let the processes go when all are ready; return the seconds until all are done, and their compiles."""
    for process in started:
        if line(process) != "ready":
            raise SystemExit("a process failed before its launch")
    begin = time.perf_counter()
    for process in started:
        tell(process)
    reports = [json.loads(line(process) or "{}") for process in started]
    seconds = time.perf_counter() - begin
    if not all(report.get("right") for report in reports):
        raise SystemExit(f"a process failed or was wrong: {reports}")
    return seconds, sum(report["compiles"] for report in reports)


def line(process: subprocess.Popen[str]) -> str:
    """Return the next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


if __name__ == "__main__":
    main()
