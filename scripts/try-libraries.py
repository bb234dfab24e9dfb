#!/usr/bin/env python3
"""Try gridjit on real libraries that extend numba-cuda: releases of cuda-cccl, and awkward.

    python scripts/try-libraries.py                         # all of them
    python scripts/try-libraries.py cuda-cccl==1.1.0 -v     # one, with the errors' tracebacks
    python scripts/try-libraries.py awkward --folder /tmp/libraries --output found.json

Each release is installed from the package index into a folder of its own, without its dependencies, which are taken
from the environment that runs this script; of awkward's, what is missing there is installed beside it. A process for
each release then compiles the kernels in scripts/library_trials twice, with numba-cuda and with gridjit; on a machine
with a GPU it launches them too and looks at the results. A second process shows what it finds in the cache.

Exit status 1 if gridjit failed on a kernel that numba-cuda compiles, or a launch was wrong. Needs NVVM, nvJitLink and
NVRTC (`pip install "numba-cuda[cu13]" cuda-core`), but no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent
# What is tried by default: a requirement, and the module of library_trials that has its kernels.
CCCL = [f"cuda-cccl=={release}" for release in ("0.3.0", "0.3.4", "0.4.0", "0.5.0", "1.0.0", "1.1.0")]
LIBRARIES = [*CCCL, "awkward==2.14.0"]
BESIDE = {"cuda-cccl": (), "awkward": ("awkward-cpp==57", "fsspec", "importlib-metadata<9", "zipp")}
TRIALS = {"cuda-cccl": "cooperative", "awkward": "jagged"}
STEPS = ("library", "numba-cuda", "gridjit", "stored", "launch")


def main() -> None:
    """Print a table for each library."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES, metavar="REQUIREMENT")
    parser.add_argument("--folder", type=Path, help="where libraries are installed and left (default: a temporary one)")
    parser.add_argument("--architecture", default="sm_90", help="what is compiled for (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write everything that was found, as JSON")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the errors' tracebacks")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        found = {library: tried(library, folder, given) for library in given.libraries}
    if given.output:
        given.output.write_text(json.dumps(found, indent=1))
    raise SystemExit(any(failed(row) for rows in found.values() for row in rows))


def tried(library: str, folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each kernel of a library, after printing them."""
    site = installed(library, folder)
    with tempfile.TemporaryDirectory() as cache:
        rows = run(library, site, cache, given)
        again = {row["name"]: row for row in run(library, site, cache, given)}
    print(f"\n{library}: {summary(rows)}; compiled again by a second process: {compiled(list(again.values()))}")
    for row in rows:
        print(f"  {row['name']}: {'; '.join(f'{step} {row[step]}' for step in STEPS if row.get(step, 'ok') != 'ok')}")
    return rows


def installed(library: str, folder: Path) -> Path:
    """Return the folder a library is installed in, after installing it there unless it is."""
    site = folder / library
    if not site.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
        subprocess.run([*install, library, *BESIDE[library.partition("==")[0]]], check=True)
    return site


def run(library: str, site: Path, cache: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what one process found; the library's folder is one of its site folders."""
    begin = "import site, sys; site.addsitedir(sys.argv.pop(1)); from library_trials.child import main; main()"
    module = TRIALS[library.partition("==")[0]]
    arguments = [str(site), module, given.architecture, *(["-v"] if given.verbose else [])]
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(SCRIPTS))))
    done = subprocess.run(
        [sys.executable, "-c", begin, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "GRIDJIT_CACHE_DIR": cache},
        check=False,
    )
    if done.returncode:
        print(f"{library}: the process ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def summary(rows: list[dict[str, Any]]) -> str:
    """Return how many kernels came through each step."""
    steps = (step for step in STEPS if any(step in row for row in rows))
    return ", ".join(f"{step} {sum(row.get(step) == 'ok' for row in rows)} of {len(rows)}" for step in steps)


def compiled(rows: list[dict[str, Any]]) -> int:
    """Return how many kernels a process compiled."""
    return sum(row.get("compiles", 0) for row in rows)


def failed(row: dict[str, Any]) -> bool:
    """Return whether gridjit did worse than numba-cuda, or a launch was wrong."""
    return row.get("numba-cuda") == "ok" != row.get("gridjit") or row.get("launch", "ok") != "ok"


if __name__ == "__main__":
    main()
