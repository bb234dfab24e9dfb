#!/usr/bin/env python3
"""Kernels on the host with debug=True against the same kernels without, on one thread, as ratios with their goal.

Times are the processor's, which other programs disturb less.

    python scripts/bench-checks.py [--only saxpy stencil ...] [--seconds 1.0]

GRIDJIT_HOST_CHECKS says what the kernels look for (bounds, uninitialized, races, none).
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["GRIDJIT_TARGET"] = "host"
os.environ["GRIDJIT_HOST_THREADS"] = "1"

from host_times.checks import ROWS
from host_times.rows import measured


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="rows with one of these texts in their name")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each row is timed (default: %(default)s)")
    given = parser.parse_args()
    for row in ROWS:
        if not given.only or any(text in row.name for text in given.only):
            print(measured(row, given.seconds, time.process_time), flush=True)


if __name__ == "__main__":
    main()
