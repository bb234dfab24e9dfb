#!/usr/bin/env python3
"""Measure a cold start of many machines with one remote cache: processes over several cache folders, fifty kernels.

Each folder stands for a machine; the remote is a folder that all share, with leases. The time runs from the moment
when all processes are let go until the last that lives has all its kernels. It is compared with the sum of one process
alone that compiles all of them, and of all processes that find all in the remote. With --kill, one machine is killed
in each trial. Exit status 1 if a kernel was compiled twice though nobody was killed.

python scripts/bench-remote.py [--processes 64] [--folders 8] [--trials 3] [--kill] [--remote URL]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
# Says when it is ready, waits to be told, compiles or finds the kernels, and says how many it compiled.
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import gridjit
print("ready", flush=True)
sys.stdin.readline()
from fifty_kernels import KERNELS
print(json.dumps({"compiles": sum(one.stats.compiles for one in KERNELS)}), flush=True)
sys.stdin.readline()
"""


def main() -> None:
    """Print the counts of compiles and the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--folders", type=int, default=8)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--kill", action="store_true", help="kill a machine in each trial")
    parser.add_argument("--remote", help="a remote cache instead of a folder; {trial} in it is the trial's number")
    options = parser.parse_args()
    twice = 0
    for trial in range(options.trials):
        with tempfile.TemporaryDirectory() as top:
            where = (options.remote or "file://" + top + "/remote?unsigned&lease").replace("{trial}", str(trial))
            (Path(top) / "remote").mkdir()
            compiles, seconds = run(Path(top), where, options.processes, options.folders, options.kill)
            _, found = run(Path(top) / "found", where, options.processes, options.folders, False)
        with tempfile.TemporaryDirectory() as alone:
            most, cold = run(Path(alone), "", 1, 1, False)
        twice += compiles > most and not options.kill
        share = f"{seconds / (cold + found):.2f} of {cold:.2f} s that one takes and {found:.2f} s that all take to read"
        print(
            f"trial {trial}: {compiles} compiles of {most} kernels, all ready after {seconds:.2f} s, {share}",
            flush=True,
        )
    sys.exit(1 if twice else 0)


def run(top: Path, remote: str, processes: int, folders: int, kill: bool) -> tuple[int, float]:
    """Return how many kernels were compiled in all, and the seconds until all that live were ready."""
    with started([environment(top / f"{number % folders}", remote) for number in range(processes)]) as running:
        for one in running:
            assert said(one) == "ready"
        began = time.perf_counter()
        for one in running:
            tell(one)
        if kill:
            _kill_machine(top, running[::folders])
        answers = [json.loads(text) for one in running if (text := said(one))]
        seconds = time.perf_counter() - began
    return sum(answer["compiles"] for answer in answers), seconds


def _kill_machine(top: Path, running: Sequence[subprocess.Popen[str]]) -> None:
    """Kill the processes of a machine when some machine holds a lease."""
    leases = top / "remote" / "leases"
    while not (leases.is_dir() and any(leases.iterdir())):
        time.sleep(0.01)
    for one in running:
        one.kill()


def environment(folder: Path, remote: str) -> dict[str, str]:
    """Return the variables of a process on one machine."""
    own = {"GRIDJIT_CACHE_DIR": str(folder), "GRIDJIT_TARGET": os.environ.get("GRIDJIT_TARGET", "host")}
    return {**os.environ, **own, "GRIDJIT_CACHE_REMOTE": remote}


@contextlib.contextmanager
def started(environments: Sequence[dict[str, str]]) -> Iterator[list[subprocess.Popen[str]]]:
    """Run a process for each environment; they are ended at the end of the block."""
    command = [sys.executable, "-c", PROGRAM, str(HERE)]
    running = [subprocess.Popen(command, env=one, text=True, stdin=-1, stdout=-1) for one in environments]
    try:
        yield running
    finally:
        for one in running:
            one.kill()
            one.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """Return a process's next line; "" if it has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


if __name__ == "__main__":
    main()
