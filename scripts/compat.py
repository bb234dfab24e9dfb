#!/usr/bin/env python3
"""Run some of gridjit's tests with the versions of Python, numba, llvmlite and NumPy that it supports.

    python scripts/compat.py                   # all environments, with a table at the end
    python scripts/compat.py oldest newest     # some of them
    python scripts/compat.py --brief oldest    # fewer tests: the front end and arguments
    python scripts/compat.py --markdown        # the table for docs/support.md; nothing is run

Each environment is made from the package index, in build/compat, and kept there; each run brings it up to date. The
Pythons are those that are found as python3.10 and so on, or among pyenv's. Exit status 1 if a test failed or an
environment could not be made; one whose Python is not installed is listed as not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "compat"
# A few minutes of tests: the front end and what its code becomes, programs from end to end, and arguments.
TESTS = ("compiler/frontend", "compiler/host", "compiler/key", "runtime/args", "end_to_end/test_numpy_names.py")
# Less, for continuous integration: the front end and arguments.
BRIEF = ("compiler/frontend", "runtime/args", "end_to_end/test_numpy_names.py")
TOLD = ("numba", "llvmlite", "numba-cuda", "numpy")


class Environment(NamedTuple):
    """Versions that are tested together. requirements: beyond gridjit's own; "oldest" stands for its lower bounds."""

    name: str
    python: str
    requirements: tuple[str, ...]


ENVIRONMENTS = (
    Environment("oldest", "3.10", ("oldest",)),
    Environment("numba-0.65", "3.11", ("numba==0.65.*", "numpy==2.3.*")),
    Environment("numba-0.66", "3.12", ("numba==0.66.*", "numpy==2.4.*")),
    Environment("numba-0.67", "3.13", ("numba==0.67.*", "numpy==2.5.*")),
    Environment("numpy-2.5", "3.12", ("numba==0.68.*", "numpy==2.5.*")),
    Environment("newest", "3.13", ()),
    Environment("newest-3.14", "3.14", ()),
)


def main() -> None:
    """Make each environment, run the tests in it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = {one.name: one for one in ENVIRONMENTS}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)} (default: all)")
    parser.add_argument("--brief", action="store_true", help="run fewer tests: the front end and arguments")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/support.md, and run nothing")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"there is no environment {unknown[0]!r}, but {', '.join(known)}")
    if given.markdown:
        print(markdown(), end="")
        return
    tests = BRIEF if given.brief else TESTS
    results = [(one, *tried(one, tests)) for one in map(known.__getitem__, given.names or known)]
    print(f"\n{'environment':14}{'Python':8}{''.join(f'{name:12}' for name in TOLD)}tests")
    for environment, versions, result, _ in results:
        print(f"{environment.name:14}{environment.python:8}{''.join(f'{text:12}' for text in versions)}{result}")
    raise SystemExit(any(failed for *_, failed in results))


def tried(environment: Environment, tests: Sequence[str] = TESTS) -> tuple[list[str], str, bool]:
    """Return the versions in an environment, what its tests came to, and whether that is a failure."""
    nothing = ["-"] * len(TOLD)
    if (python := interpreter(environment.python)) is None:
        return nothing, f"not run: python{environment.python} is not installed", False
    print(f"{environment.name}: installing", flush=True)
    try:
        made = installed(environment, python)
    except subprocess.CalledProcessError as error:
        return nothing, f"not run: it cannot be installed (exit status {error.returncode}, see above)", True
    began = time.monotonic()
    folders = [str(ROOT / "tests" / name) for name in tests]
    command = [made, "-m", "pytest", "-q", "-n", str(os.cpu_count()), "-p", "no:cacheprovider", *folders]
    done = subprocess.run(
        [*command, "-m", "not gpu and not slow"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    print(done.stdout[-5000:] if done.returncode else "", end="", flush=True)
    counts = re.findall(r"\d+ (?:passed|failed|errors?)", done.stdout.rpartition("\n=")[2] or done.stdout)
    result = f"{', '.join(counts) or 'none run'} in {time.monotonic() - began:.0f} s"
    return versions(made), result, done.returncode != 0


def interpreter(version: str) -> str | None:
    """Return the path of a Python of that version, or None."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates: list[str | Path] = [
        *kept.glob(f"{version}.*/bin/python"),
        *filter(None, [shutil.which(f"python{version}")]),
    ]
    asked = ("-c", f"import sys; raise SystemExit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})")
    return next((str(one) for one in candidates if not subprocess.run([one, *asked], check=False).returncode), None)


def installed(environment: Environment, python: str) -> str:
    """Return the interpreter of an environment, in which gridjit, its tests' libraries and the versions are."""
    folder = FOLDER / environment.name
    made = folder / "bin" / "python"
    if not made.exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    wanted = [text for one in environment.requirements for text in (lower_bounds() if one == "oldest" else [one])]
    pip = [made, "-m", "pip", "install", *(() if sys.stderr.isatty() else ("--quiet",)), "--disable-pip-version-check"]
    pip += ["--upgrade", "--upgrade-strategy", "eager"]  # in a kept environment too, the newest is the newest
    subprocess.run([*pip, "--editable", f"{ROOT}[test,cu13]", *wanted], check=True)
    return str(made)


def lower_bounds() -> list[str]:
    """Return the oldest version of each of gridjit's dependencies, as requirements."""
    listed = (ROOT / "pyproject.toml").read_text().partition("\ndependencies = [")[2].partition("\n]")[0]
    return [f"{name}=={version}" for name, version in re.findall(r'"([\w-]+)>=([\w.]+)', listed)]


def versions(python: str) -> list[str]:
    """Return the versions of what the table tells, as they are installed for an interpreter."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    return subprocess.run([python, "-c", code, *TOLD], stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def markdown() -> str:
    """Return the table of the environments for docs/support.md."""
    rows = [(one.name, one.python, described(one)) for one in ENVIRONMENTS]
    lines = ["| environment | Python | with |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def described(environment: Environment) -> str:
    """Return an environment's versions in words."""
    if environment.requirements == ("oldest",):
        return ", ".join(lower_bounds()).replace("==", " ")
    return ", ".join(environment.requirements).replace("==", " ").replace(".*", "") or "the newest of everything"


if __name__ == "__main__":
    main()
