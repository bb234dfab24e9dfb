#!/usr/bin/env python3
"""Soak the cache: processes compile, load and launch kernels from one small folder while some of them are killed.

Every process launches kernels in random order under random launch configurations, as a new process would each round,
and checks every result. Every other second or so one is killed with SIGKILL, wherever it is, and replaced. The folder
is bounded to fewer entries than there are, so that kernels are evicted and compiled again all the time. Afterwards
every entry is read and verified, and every lock and temporary file is accounted for.

The last line sums up; exit status 1 means that some result was wrong, some process failed or some entry was bad.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridjit.cache.disk import DiskStore
from gridjit.cache.history import History
from gridjit.cache.lock import LOCK_FOLDER, Locks
from gridjit.cache.manifest import Manifest
from gridjit.compiler.values.artifact import Artifact

BLOCKS = (32, 64, 128, 256)

# Kernel number N of the module: what it writes depends on its number, the block it was compiled for, and a callee.
KERNEL = """
@gridjit.jit(device=True)
def callee_{n}(value):
    return value * {n} + 1

def kernel_{n}(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = callee_{n}(x[i]) + 1000 * gridjit.static.blockDim.x
"""


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    kills: int = 0
    launches: int = 0
    compiles: int = 0
    hits: int = 0
    failures: list[str] = field(default_factory=list)


def main() -> None:
    """Run the soak, or one of its processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--configurations", type=int, default=4, choices=range(1, len(BLOCKS) + 1))
    parser.add_argument("--entries", type=int, help="bound of the cache (default: a little fewer than it would hold)")
    parser.add_argument("--kill-every", type=float, default=2.0, help="seconds between kills, on average")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--folder", type=Path, help="soak on the file system of this folder (default: the temporary one)"
    )
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        raise SystemExit(soak(options, Path(folder)))


# -- one process -------------------------------------------------------------------------------------------------------


def work(options: argparse.Namespace) -> None:
    """Launch kernels until killed; after each round, write a line of what was done."""
    import numpy as np
    import soaked

    import gridjit
    from gridjit.runtime.process.session import end_session

    choose = random.Random(options.worker)
    log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        end_session()
        counts: Counter[str] = Counter()
        for number in choose.sample(range(options.kernels), min(8, options.kernels)):
            kernel = gridjit.jit(getattr(soaked, f"kernel_{number}"))
            for block in choose.choices(BLOCKS[: options.configurations], k=3):
                size = choose.randrange(1, 600)
                x, out = np.arange(size), np.zeros(size, np.int64)
                kernel[-(-size // block), block](x, out)
                if not (out == x * number + 1 + 1000 * block).all():
                    raise SystemExit(f"wrong result: kernel_{number}, block {block}, {size} items: {out}")
                counts["launches"] += 1
            counts["compiles"] += kernel.stats.compiles
            counts["hits"] += kernel.stats.disk_hits
        os.write(log, (json.dumps(counts) + "\n").encode())


# -- all of them -------------------------------------------------------------------------------------------------------


def soak(options: argparse.Namespace, folder: Path) -> int:
    """Run the processes in folder, verify what they leave, print a summary; return the exit status."""
    write_program(folder, options.kernels)
    started, tally = time.monotonic(), Tally()
    drive(options, folder, tally)
    for line in (folder / "log").read_text().splitlines() if (folder / "log").exists() else ():
        counts = json.loads(line)
        tally.launches += counts["launches"]
        tally.compiles += counts["compiles"]
        tally.hits += counts["hits"]
    entries, faults = verify(folder / "cache")
    problems = [*tally.failures, *faults]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(
        f"{time.monotonic() - started:.0f} s, {options.processes} processes, {options.kernels} kernels, "
        f"{options.configurations} configurations: {tally.launches} launches right, {tally.compiles} compiles, "
        f"{tally.hits} disk hits, {tally.kills} kills, {len(tally.failures)} errors, {entries} entries verified, "
        f"{len(faults)} bad: {'FAILED' if problems else 'ok'}"
    )
    return 1 if problems or not tally.launches else 0


def write_program(folder: Path, kernels: int) -> None:
    """Write the module whose kernels are launched."""
    text = "import gridjit\nfrom gridjit import cuda\n" + "".join(KERNEL.format(n=n) for n in range(kernels))
    (folder / "soaked.py").write_text(text)


def drive(options: argparse.Namespace, folder: Path, tally: Tally) -> None:
    """Keep the processes running and kill one now and then, until the time is over; then stop them all."""
    choose = random.Random(options.seed)
    end = time.monotonic() + 60 * options.minutes
    running: list[subprocess.Popen[bytes]] = []
    seed = 0
    while time.monotonic() < end:
        while len(running) < options.processes:
            seed += 1
            running.append(start(options, folder, seed))
        time.sleep(choose.uniform(0, 2 * options.kill_every))
        victim = choose.choice(running)
        victim.send_signal(signal.SIGKILL)
        tally.kills += collect(victim, folder, tally)
        running.remove(victim)
        for process in [one for one in running if one.poll() is not None]:
            collect(process, folder, tally)
            running.remove(process)
    for process in running:
        process.send_signal(signal.SIGKILL)
        tally.kills += collect(process, folder, tally)


def start(options: argparse.Namespace, folder: Path, seed: int) -> subprocess.Popen[bytes]:
    """Start a process; a warning of the cache's is an error there."""
    everything = options.kernels * (options.configurations + 2)
    words = [f"--worker={seed}", f"--kernels={options.kernels}", f"--configurations={options.configurations}"]
    environment = {
        "GRIDJIT_CACHE_DIR": str(folder / "cache"),
        "GRIDJIT_CACHE_ENTRIES": str(options.entries or max(8, everything * 4 // 5)),
        "GRIDJIT_TARGET": "host",
        "GRIDJIT_HOST_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    with open(errors_of(folder, seed), "wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-W", "error", os.path.abspath(__file__), *words],
            cwd=folder,
            stdout=errors,
            stderr=errors,
            env={**os.environ, **environment},
        )


def errors_of(folder: Path, seed: int) -> Path:
    """Where a process writes what it has to say."""
    return folder / f"errors-{seed}"


def collect(process: subprocess.Popen[bytes], folder: Path, tally: Tally) -> int:
    """Note how a process ended; return 1 if it was killed, 0 if it had failed before."""
    status = process.wait()
    words: Any = process.args
    seed = int(next(word for word in words if word.startswith("--worker=")).partition("=")[2])
    path = errors_of(folder, seed)
    said = path.read_text(errors="replace")
    path.unlink()
    if status != -signal.SIGKILL or said:
        tally.failures.append(f"process {seed} ended with status {status}:\n{said}")
    return int(status == -signal.SIGKILL)


def verify(cache: Path) -> tuple[int, list[str]]:
    """Read every entry; return how many are good, and what is wrong."""
    store = DiskStore(cache)
    result = store.verify(remove=False)
    faults = [f"bad entry: {info}" for info in result.bad]
    for info in store.entries():
        data = store.get(info.key)
        if data is None or not understood(info.suffix, data):
            faults.append(f"entry that nothing can read: {info}")
    store.collect()
    Locks(cache).sweep()
    if left := list((cache / LOCK_FOLDER).glob("*")):
        faults.append(f"locks that somebody holds: {left}")
    return result.good, faults


def understood(suffix: str, data: bytes) -> bool:
    """Return whether data is what its suffix says."""
    if suffix == ".o":
        return Artifact.from_bytes(data) is not None
    return bool(Manifest.from_bytes(data).shapes) or History.from_bytes(data) is not None


if __name__ == "__main__":
    main()
