#!/usr/bin/env python3
"""Run the NAS parallel benchmarks in Python, which were written for numba.cuda, on gridjit, and say which verify.

    python scripts/run-npb.py                                # all eight at class S
    python scripts/run-npb.py --class W --serial EP MG       # two, beside the same benchmarks on one thread of numba's
    GRIDJIT_NPB=~/NPB-PYTHON python scripts/run-npb.py       # from a folder that has them already

The programs (github.com/danidomenico/NPB-PYTHON) are not part of gridjit. Unless a folder is given, git fetches them,
at the commit below, into build/NPB-PYTHON. They run unchanged after gridjit.install(), on the host unless
GRIDJIT_TARGET says otherwise, each in a process of its own. They need the packages numba-cuda, numpy and py-cpuinfo.

A program verifies its own result. Those that tests/clients/npb-on-host.txt lists, one a line, may fail. Exit status 1
if any other does.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "https://github.com/danidomenico/NPB-PYTHON"
COMMIT = "0be3327f5e44a9e1e14b74ef88c447126806fff9"
PROGRAMS = ("EP", "IS", "CG", "MG", "FT", "LU", "SP", "BT")
LISTED = ROOT / "tests" / "clients" / "npb-on-host.txt"
# They put None on sys.path (the result of append), on which importlib.metadata stumbles when numba compiles.
PRELUDE = """
import runpy, sys

class Folders(list):
    def append(self, folder):
        if folder is not None:
            super().append(folder)

sys.path, sys.argv = Folders(sys.path), sys.argv[1:]
if sys.argv[1] == "install":
    import gridjit
    gridjit.install()
del sys.argv[1]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run of a program came to: whether it verified, millions of operations a second, and how long it took."""

    verified: bool
    speed: float
    seconds: float
    output: str

    @property
    def last_words(self) -> str:
        """The last line that it printed: where it failed, the error."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "")


def main() -> None:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=PROGRAMS, metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--class", dest="size", default="S", help="the size of the problems (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="where they are (default: GRIDJIT_NPB, or they are fetched)")
    parser.add_argument("--serial", action="store_true", help="also run them on one thread of numba's, and compare")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for each (default: %(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what a program that fails printed")
    given = parser.parse_args()
    given.folder = given.folder or folder()
    listed = allowed(LISTED.read_text())
    print(f"class {given.size}     verified     Mop/s   whole run" + ("   beside numba's" if given.serial else ""))
    failed = [name for name in given.programs if not show(name, given, listed)]
    raise SystemExit(f"failed: {', '.join(failed)}" if failed else 0)


def show(name: str, given: argparse.Namespace, listed: dict[str, str]) -> bool:
    """Print what became of a program; return whether it verified, or is known to fail."""
    found = run(given.folder / "NPB-CUDA" / f"{name}.py", given.size, given.timeout, install=True)
    row = f"{name:12} {'yes' if found.verified else 'NO':>8} {found.speed:9.2f} {found.seconds:9.1f} s"
    if given.serial and found.verified:
        peer = run(given.folder / "NPB-SER" / f"{name}.py", given.size, given.timeout, install=False)
        row += f"   {peer.speed / found.speed:.2f}x its time" if peer.verified and found.speed else "   it failed"
    print(row if found.verified else f"{row}  {listed.get(name) or found.last_words}", flush=True)
    if given.verbose and not found.verified:
        print(found.output, flush=True)
    return found.verified or name in listed


def run(program: Path, size: str, timeout: float, *, install: bool) -> Run:
    """Run a program in a process of its own, on gridjit or, with install=False, as it is."""
    environment = {"GRIDJIT_TARGET": "host"} | os.environ
    command = [sys.executable, "-c", PRELUDE, str(program), "install" if install else "leave", "-c", size]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command, env=environment, timeout=timeout, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        output = done.stdout
    except subprocess.TimeoutExpired:
        output = f"no end after {timeout:.0f} s"
    return report(output, time.perf_counter() - start)


def report(output: str, seconds: float) -> Run:
    """Return what a program said of itself."""
    verified = re.search(r"^ Verification +=\s+SUCCESSFUL", output, re.MULTILINE) is not None
    speed = re.search(r"^ Mop/s total +=\s+([\d.]+)", output, re.MULTILINE)
    return Run(verified=verified, speed=float(speed[1]) if speed else 0.0, seconds=seconds, output=output)


def allowed(text: str) -> dict[str, str]:
    """Return the programs that a list names, with the reasons: lines `NAME: why`."""
    lines = (line.partition(":") for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {name.strip(): why.strip() for name, _, why in lines}


def folder() -> Path:
    """Return where the programs are: where GRIDJIT_NPB says, else fetched."""
    if "GRIDJIT_NPB" in os.environ:
        return Path(os.environ["GRIDJIT_NPB"]).expanduser()
    fetched = ROOT / "build" / "NPB-PYTHON"
    if not fetched.exists():
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", SOURCE, str(fetched)], check=True)
    subprocess.run(["git", "-C", str(fetched), "checkout", "--quiet", COMMIT], check=True)
    return fetched


if __name__ == "__main__":
    main()
