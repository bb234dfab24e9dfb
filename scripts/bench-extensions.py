#!/usr/bin/env python3
"""Measure what a loaded extension library costs kernels that do not use it: the test library, with 150 registrations.

The library of tests/libraries is installed into a temporary folder. Each number is a median over fresh processes, with
the library registered and without, interleaved: the CPU time, which other programs do not change, of a job's key (the
first, and later ones), of a compile, and of a first launch whose code is in the cache. numba-cuda and the library are
imported before the time starts: a process that has loaded an extension has them anyway.

    python scripts/bench-extensions.py [--repeats 7] [--target host] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What it should be at most: ms, or the ratio to the time without.
GOALS = {"later key": "at most 2 ms", "warm first launch": "at most 5 ms more", "compile": "at most 1.2x"}

PROGRAM = """
import json, site, statistics, sys, time
site.addsitedir(sys.argv[1])
import numpy as np
import gridjit
from gridjit import cuda
from gridjit.cache.key import Key
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.types import parse_signature

numba_cuda()
if sys.argv[2] == "with":
    import blockwise
    blockwise.register()

def body(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * NUMBER

def kernel_of(number):
    return gridjit.jit(type(body)(body.__code__, {"cuda": cuda, "NUMBER": number, "__name__": "bench"}, "body"))

def timed(step):
    begin = time.process_time()
    step()
    return (time.process_time() - begin) * 1000

x, out = np.ones(1000), np.zeros(1000)
wanted = parse_signature("void(float64[::1], float64[::1])")
here = kernel_of(1)
target = here.target_for(None)
keys = [timed(lambda: Key.of(kernel_of(number).job_for(wanted, target).fields).digest) for number in range(2, 13)]
launch = timed(lambda: here[8, 128](x, out))
found = {"first key": keys[0], "later key": statistics.median(keys[1:])}
if here.stats.compiles:
    compiles = [timed(lambda: kernel_of(number)[8, 128](x, out)) for number in range(100, 105)]
    found |= {"first compile": launch, "compile": statistics.median(compiles)}
else:
    found["warm first launch"] = launch
print(json.dumps(found))
"""


def main() -> None:
    """Print the medians with the library and without, and what they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind (default: %(default)s)")
    parser.add_argument("--target", choices=("host", "cuda"), default="host")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        medians = measured(Path(folder), given.repeats, given.target)
    for name, (without, loaded) in medians.items():
        goal = GOALS.get(name, "")
        print(f"{name:18} without {without:8.2f} ms   with {loaded:8.2f} ms   {loaded / without:5.2f}x   {goal}")
    if given.output:
        given.output.write_text(json.dumps(medians))


def measured(folder: Path, repeats: int, target: str) -> dict[str, tuple[float, float]]:
    """Return for each name the medians without and with the library, ms."""
    site = installed(folder)
    found: dict[str, dict[str, list[float]]] = {}
    for repeat in range(repeats):
        for how in ("without", "with"):
            cache = folder / f"{how}-{repeat}"
            for _ in ("compiles", "finds"):
                for name, milliseconds in run(site, how, cache, target).items():
                    found.setdefault(name, {}).setdefault(how, []).append(milliseconds)
    return {
        name: (statistics.median(times["without"]), statistics.median(times["with"]))
        for name, times in found.items()
        if len(times) == 2
    }


def installed(folder: Path) -> Path:
    """Return the folder that the library was installed into."""
    sources, site = folder / "sources", folder / "site"
    shutil.copytree(ROOT / "tests" / "libraries" / "blockwise", sources)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(site), str(sources)], check=True)
    return site


def run(site: Path, how: str, cache: Path, target: str) -> dict[str, float]:
    """Return what one process measured; without the library it is not installed either."""
    place = site if how == "with" else site.with_name("nothing")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        # Modules come from bytecode, as they do where gridjit and the library were installed with pip.
        "PYTHONPYCACHEPREFIX": str(site.with_name("bytecode")),
        "GRIDJIT_CACHE_DIR": str(cache),
        "GRIDJIT_TARGET": target,
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(place), how], stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    report: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return report


if __name__ == "__main__":
    main()
