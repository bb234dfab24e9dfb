#!/usr/bin/env python3
"""Measure cold compiles: a set of kernels, each in fresh processes, with gridjit on both targets and with numba-cuda.

Both compilers are imported before the time starts; numba-cuda makes a cubin too, without a driver. Times are medians
of CPU seconds, with wall time beside them: other programs on the machine cost wall time most. Needs the CUDA
toolkit's libraries (the extra cu12 or cu13), but no GPU.

    python scripts/bench-compile.py [--repeats 3] [--only saxpy deep_16 ...] [--phases] [--no-scenarios] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from compile_times.cases import CASES, Case
from compile_times.figures import CUBIN, HOST, NUMBA, Figure, Results, figures, ratio
from compile_times.processes import KINDS, Times, compiled
from compile_times.scenarios import fifty_declared, first_tiered, one_edited, ten_sharing, tenth
from compile_times.served import fifty_declared_served, one_edited_served

from gridjit.commands.svg import Bar, bars


def main() -> None:
    """Print a line for each kernel, and the figures."""
    given = _arguments()
    cases = [case for case in CASES if not given.only or case.name in given.only]
    with tempfile.TemporaryDirectory() as folder:
        results = measured(cases, Path(folder), given.repeats, phases=given.phases)
        found = [*figures(results), *([] if given.no_scenarios else scenarios(Path(folder), given.repeats))]
    print("\nfigures")
    for figure in found:
        print(figure)
    if given.plot:
        given.plot.write_text(_picture(results))
    if given.output:
        given.output.write_text(json.dumps(_plain(results, found), indent=2))


def measured(cases: Sequence[Case], folder: Path, repeats: int, *, phases: bool) -> Results:
    """Return the times of each case, and print them as they come."""
    print(f"{'CPU s (wall s)':16} {'numba-cuda':>15} {'cubin':>15} {'ratio':>6} {'host':>15} {'ratio':>6}")
    for kind in KINDS:  # writes the modules' bytecode, which later processes find
        compiled(CASES[0], *kind, folder)
    results: dict[str, dict[tuple[str, str], Times]] = {}
    for case in cases:
        told = {kind: [compiled(case, *kind, folder)[0] for _ in range(repeats)] for kind in KINDS}
        results[case.name] = {kind: Times.median(times) for kind, times in told.items()}
        print(_row(case.name, results[case.name]), flush=True)
        if phases:
            print("".join(_phases(kind, results[case.name][kind]) for kind in (CUBIN, HOST)), end="", flush=True)
    return results


def scenarios(folder: Path, repeats: int) -> list[Figure]:
    """Return the figures of several kernels in one process, and of an edited function."""
    pooled, alone = fifty_declared(repeats)
    return [
        ratio("the tenth kernel of a process / numba-cuda's tenth", 0.7, tenth(folder, repeats)),
        ratio("ten kernels that share a device function / numba-cuda's ten", 0.7, ten_sharing(folder, repeats)),
        ratio("one of 32 device functions edited / the whole compile", 0.15, one_edited(folder, repeats)),
        ratio("the same with a compile server / the whole with imports, wall", 0.15, one_edited_served(repeats)),
        ratio("50 declared kernels, a pool of 2 / the sum of their compiles", 0.6, (pooled, alone)),
        ratio("50 declared kernels, a compile server of 2 / that sum", 0.6, fifty_declared_served(repeats, alone)),
        _first_launch(repeats),
    ]


def _first_launch(repeats: int) -> Figure:
    wall, cpu = first_tiered(repeats)
    what = "ms of a huge kernel's first launch, tiered, generic in the cache"
    return Figure(what=what, bound=50, measured=wall, detail=f"{cpu:.0f} ms of CPU time")


def _row(name: str, times: dict[tuple[str, str], Times]) -> str:
    numba, cubin, host = (times[kind] for kind in (NUMBA, CUBIN, HOST))
    first = f"{name:16} {_text(numba)} {_text(cubin)} {cubin.cpu / numba.cpu:6.2f}"
    return f"{first} {_text(host)} {host.cpu / cubin.cpu:6.2f}"


def _text(times: Times) -> str:
    return f"{times.cpu:6.2f} ({times.wall:6.2f})"


def _phases(kind: tuple[str, str], times: Times) -> str:
    shown = sorted(times.phases.items(), key=lambda item: -item[1])
    return f"    {kind[1]}: {', '.join(f'{name} {spent:.0f}' for name, spent in shown if spent >= 1)} ms\n"


def _plain(results: Results, found: list[Figure]) -> dict[str, object]:
    times = {name: {" ".join(kind): asdict(one) for kind, one in of.items()} for name, of in results.items()}
    return {"times": times, "figures": [asdict(figure) for figure in found]}


def _picture(results: Results) -> str:
    """Return the CPU time of compiles to a cubin, numba-cuda's and gridjit's, as an SVG file."""
    rows = []
    for name, times in results.items():
        for kind, color in ((NUMBA, "c6"), (CUBIN, "accent")):
            spent, ours = times[kind].cpu, kind == CUBIN
            rows.append(Bar(name=f"{name}, {kind[0]}", value=spent, said=f"{spent:.2f} s", color=color, bold=ours))
    return bars("CPU time to compile to a cubin", "Medians, the compiler already imported", rows)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="processes of each kind (default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="KERNEL", help="kernels to compile: " + ", ".join(_names()))
    parser.add_argument("--phases", action="store_true", help="print where gridjit's time goes")
    parser.add_argument("--no-scenarios", action="store_true", help="leave out those of several kernels")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the compiles to a cubin")
    parser.add_argument("--output", type=Path, help="write all of it as JSON to this file")
    given = parser.parse_args()
    if unknown := set(given.only or ()) - set(_names()):
        parser.error(f"no kernels {', '.join(sorted(unknown))}")
    return given


def _names() -> list[str]:
    return [case.name for case in CASES]


if __name__ == "__main__":
    main()
