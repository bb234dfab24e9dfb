#!/usr/bin/env python3
"""Measure what a launch of an empty kernel costs, 1 block of 1 thread, by number and kind of arguments.

    python scripts/bench-launch-overhead.py
    python scripts/bench-launch-overhead.py --repo main=. --repo new=../gridjit-new --output overhead.json

Times are microseconds per launch as a user's loop sees them, in batches with a synchronize (not timed) between them.
The floor is a bare C loop of cuLaunchKernel with the same bytes of parameters, in the same process, in turns with
the rest. Several checkouts are measured in turns, a process for each repeat of each, so that what the machine does
meanwhile happens to all of them; and their differences are those of the multiples of their own floors. Peers that are
installed are measured in processes of their own. Needs a GPU unless --target host is given.
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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launch_overhead import device, goals, plot, tables
from launch_overhead.repositories import Repository, install, link
from launch_overhead.timing import Row, pooled

SCRIPTS = Path(__file__).parent
PEERS = {"numba-cuda": "numba.cuda", "CuPy": "cupy", "Triton": "triton", "cuda.core": "cuda.core"}


@dataclass(slots=True, kw_only=True)
class Run:
    """What one run found."""

    machine: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    starts: dict[str, dict[str, float]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def main() -> None:
    """Measure, print the tables, write the files asked for."""
    given = _arguments()
    if given.target == "cuda":
        device.refuse_without_gpu("bench-launch-overhead")
    run = Run(machine=device.machine(given.target))
    with tempfile.TemporaryDirectory(prefix="launch-overhead-") as folder:
        _measure(run, given, Path(folder))
    names = [repository.name for repository in given.repo]
    found = goals.verdicts([row for row in run.rows if row.who == names[0]], run.starts.get(names[0], {}))
    print(_report(run, names, found, given))
    if given.output:
        given.output.write_text(json.dumps(_as_json(run, names, found, given), indent=1) + "\n")
    if given.plot:
        title = ", ".join(run.machine.get(name, "") for name in ("gpu", "date")).strip(", ")
        print(f"drawn to {plot.draw(run.rows, names, f'Launch of an empty kernel: {title}', given.plot)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--repo", action="append", type=_repository, metavar="NAME=PATH", help="a checkout; the first is the reference")
    add("--python", default=sys.executable, help="the interpreter to measure with (default: this one)")
    add("--no-install", action="store_true", help="measure the checkouts in place instead of installed copies")
    add("--target", choices=("cuda", "host"), default="cuda")
    add("--loops", type=int, help="launches of a case in one repeat (default: 10000; 2000 on the host)")
    add("--repeats", type=int, default=7, help="(default: %(default)s)")
    add("--no-peers", action="store_true", help="measure only gridjit and the floor")
    add("--starts", type=int, default=5, help="processes timed from start to first result (default: %(default)s)")
    add("--details", action="store_true", help="print means and standard deviations too")
    add("--output", type=Path, metavar="FILE.json", help="write everything that was found")
    add("--plot", type=Path, metavar="FILE.svg", help="draw it")
    given = parser.parse_args()
    given.repo = given.repo or [Repository(name="gridjit", path=SCRIPTS.parent.resolve())]
    given.loops = given.loops or (2000 if given.target == "host" else 10_000)
    names = [repository.name for repository in given.repo]
    if len({repository.slug for repository in given.repo}) != len(names):
        parser.error(f"two checkouts have one name: {', '.join(names)}")
    if given.loops < 1 or given.repeats < 1 or given.starts < 0:
        parser.error("--loops and --repeats are 1 or more, --starts 0 or more")
    return given


def _repository(text: str) -> Repository:
    try:
        return Repository.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _measure(run: Run, given: argparse.Namespace, folder: Path) -> None:
    floor = _floor(run, given, folder)
    common = ["--loops", str(given.loops), *(["--floor", str(floor)] if floor else [])]
    environments = {
        repository.name: _environment(
            folder / f"{repository.slug}-cache",
            link(repository, folder) if given.no_install else install(repository, given.python, folder),
            given.target,
        )
        for repository in given.repo
    }
    _in_turns(run, given, folder, environments, common)
    _start(run, given, folder, "gridjit", environments)
    if given.target == "host" or given.no_peers:
        return
    environment = _environment(folder / "peers-cache", None, given.target)
    for name, module in PEERS.items():
        if not _has(given.python, module, environment):
            run.left_out.append(f"{name} is not installed")
            continue
        program = ["peer_rows", "--name", name, *common, "--repeats", str(given.repeats)]
        run.rows += _without_floors(_rows(run, given, folder, name, program, environment) or [])
        if name == "numba-cuda":
            _start(run, given, folder, name, {name: environment})


def _floor(run: Run, given: argparse.Namespace, folder: Path) -> Path | None:
    if given.target == "host":
        run.left_out.append("the floor is of cuLaunchKernel; the host target has none")
        return None
    library, why_not = device.build_floor(folder)
    if why_not:
        run.left_out.append(why_not)
    return library


def _environment(cache: Path, site: Path | None, target: str) -> dict[str, str]:
    paths = [*([str(site)] if site else []), str(SCRIPTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        # Modules come from bytecode, as they do for whoever installed them with pip.
        "PYTHONPYCACHEPREFIX": str(cache / "bytecode"),
        "PYTHONPATH": os.pathsep.join(paths),
        "GRIDJIT_CACHE_DIR": str(cache),
        "GRIDJIT_TARGET": target,
        "NUMBA_CACHE_DIR": str(cache / "numba"),
    }


def _in_turns(
    run: Run,
    given: argparse.Namespace,
    folder: Path,
    environments: Mapping[str, Mapping[str, str]],
    common: list[str],
) -> None:
    """Measure the checkouts: one in a process; several in as many as there are repeats, in turns, there and back."""
    found: dict[str, list[list[Row]]] = {name: [] for name in environments}
    turns, repeats = (given.repeats, 1) if len(environments) > 1 else (1, given.repeats)
    for turn in range(turns):
        for name in list(found) if turn % 2 == 0 else reversed(list(found)):
            program = ["gridjit_rows", "--name", name, "--target", given.target, *common, "--repeats", str(repeats)]
            rows = _rows(run, given, folder, name, program, environments[name])
            if rows is None:
                del found[name]
            else:
                found[name].append(rows)
    for rows in (pooled(runs) for runs in found.values()):
        run.rows += _without_floors(rows) if run.rows else rows


def _without_floors(rows: list[Row]) -> list[Row]:
    """Return rows less the floors; those of the first checkout are shown."""
    return [row for row in rows if row.who != "floor"]


def _rows(
    run: Run, given: argparse.Namespace, folder: Path, name: str, program: list[str], environment: Mapping[str, str]
) -> list[Row] | None:
    """Run a program that measures, and return what it wrote; None for one that fails: it is left out and said so."""
    output = folder / "rows.json"
    done = _run(given.python, [*program, "--output", str(output)], folder, environment)
    if done.returncode:
        run.left_out.append(f"{name} failed: {_last_line(done.stderr)}")
        print(done.stderr, file=sys.stderr)
        return None
    found = json.loads(output.read_text())
    output.unlink()
    run.left_out += [reason for reason in found["left_out"] if reason not in run.left_out]
    return [Row.of(row) for row in found["rows"]]


def _start(
    run: Run, given: argparse.Namespace, folder: Path, who: str, environments: Mapping[str, Mapping[str, str]]
) -> None:
    """Time processes from their start to their first result, in turns; the first two fill the caches and do not count.

    who: what is started, gridjit or numba-cuda. environments: what it finds it in, by what that is called.
    """
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in environments}
    for _ in range(given.starts + 2 if given.starts else 0):
        for name in list(taken):
            found = _started(run, given, folder, name, who, environments[name])
            if found is None:
                del taken[name]
            else:
                taken[name].append(found)
    for name, times in taken.items():
        if counted := times[2:]:
            run.starts[name] = {step: round(statistics.median(t[step] for t in counted), 2) for step in counted[0]}


def _started(
    run: Run, given: argparse.Namespace, folder: Path, name: str, who: str, environment: Mapping[str, str]
) -> dict[str, float] | None:
    """Return the times of one start, ms by step; None for one that fails: it is left out and said so."""
    output = folder / "start.json"
    output.unlink(missing_ok=True)
    program = ["start_times", who, repr(time.monotonic()), str(output), given.target]
    done = _run(given.python, program, folder, environment)
    if done.returncode:
        run.left_out.append(f"start times of {name} failed: {_last_line(done.stderr)}")
        print(done.stderr, file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(output.read_text())
    return found


def _run(
    python: str, program: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    module, *arguments = program
    command = [python, "-m", f"launch_overhead.{module}", *arguments]
    return subprocess.run(command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False)


def _has(python: str, module: str, environment: Mapping[str, str]) -> bool:
    done = subprocess.run([python, "-c", f"import {module}"], env=dict(environment), capture_output=True, check=False)
    return done.returncode == 0


def _last_line(text: str) -> str:
    return next(iter(reversed(text.strip().splitlines())), "it said nothing")


def _report(run: Run, names: list[str], found: list[goals.Verdict], given: argparse.Namespace) -> str:
    against = "" if len(names) == 1 else f"; %: against {names[0]}, measured in turns{_by_floors(run)}"
    parts = [
        ", ".join(run.machine.values()),
        f"medians of {given.repeats} repeats of {given.loops} launches; x: multiple of the floor, each: kernel[grid, "
        f"block](...) every time{against}",
        "",
        tables.launches(run.rows, names, given.details),
    ]
    if run.starts:
        parts += ["", tables.starts(run.starts)]
    if given.target == "cuda":
        parts += ["", f"Figures to reach, by {names[0]}:", tables.goals(found)]
    if run.left_out:
        parts += ["", "Left out:", *(f"- {reason}" for reason in run.left_out)]
    return "\n".join(parts)


def _by_floors(run: Run) -> str:
    return ", as multiples of their own floors" if any(row.floor for row in run.rows) else ""


def _as_json(run: Run, names: list[str], found: list[goals.Verdict], given: argparse.Namespace) -> dict[str, Any]:
    return {
        "schema": 1,
        "machine": run.machine,
        "target": given.target,
        "loops": given.loops,
        "repeats": given.repeats,
        "repos": names,
        "rows": [row.as_json() for row in run.rows],
        "starts": run.starts,
        "goals": [verdict.as_json() for verdict in found] if given.target == "cuda" else [],
        "left_out": run.left_out,
    }


if __name__ == "__main__":
    main()
