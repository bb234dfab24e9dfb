#!/usr/bin/env python3
"""Kernels on the host target against numba with as many threads, in the same run, as ratios with their goals.

Each kernel's result is checked first. Times are the least of many series of launches, which take turns with the peer's.
A ratio is gridjit's time over its peer's.

    python scripts/bench-host.py [--only saxpy stencil ...] [--seconds 1.0] [--output FILE]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numba

os.environ.setdefault("GRIDJIT_TARGET", "host")

from host_times import dense, items, launches, planes, sums
from host_times.rows import Measured, measured

ROWS = (*items.ROWS, *planes.ROWS, *dense.ROWS, *sums.ROWS, *launches.ROWS)


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="rows with one of these texts in their name")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each row is timed (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the times as JSON to this file")
    given = parser.parse_args()
    if threads := os.environ.get("GRIDJIT_HOST_THREADS"):
        numba.set_num_threads(int(threads))
    found = []
    for row in ROWS:
        if not given.only or any(text in row.name for text in given.only):
            found.append(measured(row, given.seconds))
            print(found[-1], flush=True)
    if given.output:
        given.output.write_text(json.dumps([_plain(one) for one in found], indent=2))


def _plain(one: Measured) -> dict[str, object]:
    return {"name": one.row.name, "peer": one.row.peer, "goal": one.row.goal} | (
        {"refused": one.refused} if one.refused else {"ms": one.ours, "peer_ms": one.theirs, "figure": one.figure}
    )


if __name__ == "__main__":
    main()
