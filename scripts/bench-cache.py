#!/usr/bin/env python3
"""Measure the cache: puts and gets by how much a folder holds, job keys, and how soon a kernel on disk is callable.

The sizes are measured in turns, so that they see the same machine; every number is a median over the repeats. Needs no
GPU: kernels are the host target's.

python scripts/bench-cache.py [--entries 100 10000] [--bytes 8192] [--repeats 15] [--folder DIR] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gridjit.cache import files
from gridjit.cache.disk import DiskStore
from gridjit.cache.entry import seal
from gridjit.cache.folder import folder_at, make_folder
from gridjit.cache.key import digest

# Goals, in the units of their rows.
GOALS = {"job key, 20 callees": 1000.0, "disk hit to callable": 2000.0, "put, new key": 1.5, "get, hit": 1.5}

FRESH = """
import sys, time
start = time.perf_counter()
from gridjit.cache.disk import DiskStore
imported = time.perf_counter()
store = DiskStore(sys.argv[1])
store.get(sys.argv[2])
got = time.perf_counter()
if sys.argv[3:]:
    store.put(sys.argv[2], b"data", suffix=".o")
put = time.perf_counter()
print((imported - start) * 1e6, (got - imported) * 1e6, (put - got) * 1e6)
"""
# Each kernel of the program calls every function of the program.
KERNELS = 20
KERNEL = """
@gridjit.jit(device=True)
def callee_{n}(x):
    return x * SCALE + {n}

@gridjit.jit
def kernel_{n}(x):
    x[0] = {calls} + {n}
"""
# Prints medians, in microseconds, of what happens to kernels in a process where one was launched already.
LAUNCHES = """
import json, statistics, time
from gridjit.cache.key import Key
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.process.arguments import signature_of
from gridjit.runtime.process.session import session
import numpy as np

now = time.perf_counter
kernels = [found for found in list(globals().values()) if isinstance(found, gridjit.Kernel)]
x, config = np.ones(32), LaunchConfig.of(1, 1)
callable_in, launched_in, keyed_in = [], [], []
for kernel in kernels:
    start = now()
    kernel.specialization_for(signature_of(kernel, (x,)), config, (x,))
    ready = now()
    kernel[1, 1](x)
    callable_in.append((ready - start) * 1e6)
    launched_in.append((now() - start) * 1e6)
target, signature = session().target(None), signature_of(kernels[0], (x,))
for kernel in kernels:
    start = now()
    Key.of(kernel.job_for(signature, target).fields).digest
    keyed_in.append((now() - start) * 1e6)
print(json.dumps({
    "compiles": sum(kernel.stats.compiles for kernel in kernels),
    "disk hit to callable, first of the process": callable_in[0],
    "disk hit to callable": statistics.median(callable_in[1:]),
    "disk hit to result": statistics.median(launched_in[1:]),
    "job key, 20 callees": statistics.median(keyed_in),
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folder:
    """A cache folder with many entries, and the times measured in it."""

    entries: int
    path: str
    store: DiskStore
    keys: list[str]
    times: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, microseconds: float) -> None:
        """Add a time."""
        self.times.setdefault(name, []).append(microseconds)


def main() -> None:
    """Print one row per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[100, 10_000], help="how many a folder holds")
    parser.add_argument("--bytes", type=int, default=8192, help="size of one entry's data")
    parser.add_argument("--repeats", type=int, default=15, help="turns (default: %(default)s)")
    parser.add_argument("--folder", help="measure on the file system of this folder (default: the temporary one)")
    parser.add_argument("--output", help="write the results to this file as JSON")
    options = parser.parse_args()
    with ExitStack() as stack:
        temporary = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        # Modules are loaded as where gridjit is installed: from bytecode.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = f"{temporary}/bytecode"
        folders = [filled(f"{temporary}/{entries}", entries, options.bytes) for entries in options.entries]
        fresh = (digest([("fresh", number)]) for number in itertools.count())
        for _ in range(options.repeats):
            for folder in folders:
                measure(folder, options.bytes, fresh)
        kernels = launches(Path(temporary), options.repeats)
    rows = {f"{folder.entries} entries": medians(folder.times) for folder in folders}
    report(rows, kernels)
    if options.output:
        with open(options.output, "w") as file:
            json.dump({"bytes": options.bytes, "unit": "us", "medians": rows, "kernels": kernels}, file, indent=1)


def filled(path: str, entries: int, size: int) -> Folder:
    """Return a folder that holds so many entries."""
    store = DiskStore(path, max_entries=10 * entries + 10_000, max_bytes=1 << 40)
    keys = [digest([("entry", number)]) for number in range(entries)]
    make_folder(path)
    for number, key in enumerate(keys):
        files.write_file(folder_at(path), key, (".cubin", ".json")[number % 2], seal(key, bytes(size)))
    store.collect()
    return Folder(entries=entries, path=path, store=store, keys=keys)


def measure(folder: Folder, size: int, fresh: Iterable[str]) -> None:
    """Take one turn in a folder."""
    store, data = folder.store, bytes(size)
    step = max(1, folder.entries // 50)
    some, others = folder.keys[0::2][::step], folder.keys[1::2][::step]
    absent = [digest([("absent", number)]) for number in range(50)]
    new = list(itertools.islice(iter(fresh), 10))
    folder.note("get, hit", timed(store.get, some))
    folder.note("get, hit in the last suffix", timed(store.get, others))
    folder.note("get, miss", timed(store.get, absent))
    folder.note("put, new key", timed(lambda key: store.put(key, data, suffix=".cubin"), new))
    folder.note("put, known key", timed(lambda key: store.put(key, data, suffix=".cubin"), some[:10]))
    imported, got, _ = in_fresh_process(folder, some[0])
    folder.note("fresh process: import", imported)
    folder.note("fresh process: open and first get", got)
    folder.note("fresh process: first put", in_fresh_process(folder, some[0], "put")[2])


def timed(act: Callable[[str], object], keys: list[str]) -> float:
    """Return the mean time of act over keys, in microseconds."""
    start = time.perf_counter()
    for key in keys:
        act(key)
    return (time.perf_counter() - start) / len(keys) * 1e6


def in_fresh_process(folder: Folder, *words: str) -> list[float]:
    """Return what FRESH prints."""
    command = [sys.executable, "-c", FRESH, folder.path, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def launches(folder: Path, repeats: int) -> dict[str, float]:
    """Return medians, in microseconds, of what happens to kernels that are on disk; one process to put them there."""
    path = folder / "program.py"
    calls = " + ".join(f"callee_{n}(x[{n}])" for n in range(KERNELS))
    kernels = "".join(KERNEL.format(n=n, calls=calls) for n in range(KERNELS))
    path.write_text(f"import gridjit\nSCALE = 3\n{kernels}{LAUNCHES}")
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(folder / "kernels"), "GRIDJIT_TARGET": "host"}
    times: dict[str, list[float]] = {}
    for turn in range(repeats + 1):
        command = [sys.executable, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        printed = json.loads(done.stdout)
        if printed.pop("compiles") != (KERNELS if turn == 0 else 0):
            raise SystemExit(f"turn {turn}: kernels were compiled that should be on disk, or the reverse")
        if turn:
            for name, value in printed.items():
                times.setdefault(name, []).append(value)
    return medians(times)


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    """Return each name's median."""
    return {name: round(statistics.median(values), 1) for name, values in times.items()}


def report(rows: dict[str, dict[str, float]], kernels: dict[str, float]) -> None:
    """Print the rows; the last folder against the first."""
    first, last = next(iter(rows)), list(rows)[-1]
    print(f"{'microseconds':44}" + "".join(f"{name:>18}" for name in rows) + f"{'last / first':>14}")
    for name in rows[first]:
        ratio = rows[last][name] / rows[first][name]
        goal = f"   goal: {GOALS[name]}" if name in GOALS else ""
        print(f"{name:44}" + "".join(f"{row[name]:18.1f}" for row in rows.values()) + f"{ratio:14.2f}{goal}")
    for name, value in kernels.items():
        goal = f"   goal: {GOALS[name]:.0f}" if name in GOALS else ""
        print(f"{name:44}{value:18.1f}{goal}")


if __name__ == "__main__":
    main()
