#!/usr/bin/env python3
"""Fifty declared kernels in a fresh process with an empty cache: compiled there, or in a pool of processes.

The time runs from the import of the module that declares them until all can be launched; the import of the compiler is
in it. "sum" is what the fifty compiles take in one process, the first of which imports it. Runs of both kinds take
turns; each figure is a median.

On a busy machine seconds say little. Processor time is told too: of the one process; and of the pool's server and its
busiest worker, one after the other, which is what must pass on cores that nobody else uses.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
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

pool = gridjit.runtime.session.session()._pool
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


def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="processes of the pool (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind (default: %(default)s)")
    parser.add_argument("--target", default="host", choices=("host", "cuda"), help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    runs: dict[int, list[dict[str, float]]] = {0: [], given.processes: []}
    for _ in range(given.repeats):
        for processes, times in runs.items():
            times.append(_run(processes, given.target))
    alone, pooled = (_medians(times) for times in runs.values())
    assert (alone["compiles"], pooled["compiles"]) == (50, 0)
    print(f"in one process        ready after {alone['ready']:6.2f} s, sum of the compiles {alone['sum']:6.2f} s")
    in_others = f"in {given.processes} other processes"
    print(f"{in_others:21} ready after {pooled['ready']:6.2f} s, declared after {pooled['declared']:6.2f} s")
    print(
        f"processor time        {alone['busy']:6.2f} s in one process, {pooled['busy']:6.2f} s in a pool's longest line"
    )
    ratios = {
        "of the sum": pooled["ready"] / alone["sum"],
        "of one process": pooled["ready"] / alone["ready"],
        "by processor time": pooled["busy"] / alone["busy"],
    }
    for name, ratio in ratios.items():
        print(f"{name:21} {ratio:6.2f}")
    if given.output:
        given.output.write_text(json.dumps({"alone": alone, "pooled": pooled, **ratios}, indent=2))


def _run(processes: int, target: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "GRIDJIT_CACHE_DIR": folder,
            "GRIDJIT_TARGET": target,
            "GRIDJIT_COMPILE_PROCESSES": str(processes),
        }
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _medians(times: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(run[name] for run in times) for name in times[0]}


if __name__ == "__main__":
    main()
