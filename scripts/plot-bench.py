#!/usr/bin/env python3
"""Draw the last run of `make bench`: microseconds per launch of each case, the cases of one group beside each other.

python scripts/plot-bench.py [RUN.json] [--output FILE.svg]    # default: the newest in .benchmarks, latest.svg there
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from gridjit.commands.svg import Bar, bars

FOLDER = Path(".benchmarks")


def picture(run: dict[str, Any]) -> str:
    """Return the picture of a run as pytest-benchmark stores it."""
    found = [one for one in run["benchmarks"] if "us_per_launch" in one["extra_info"]]
    groups = dict.fromkeys(str(one["group"]) for one in found)
    colors = {group: f"c{number % 7}" for number, group in enumerate(groups)}
    rows = [_named(one, colors[str(one["group"])]) for group in groups for one in found if str(one["group"]) == group]
    return bars("Launches of an empty kernel, in microseconds", f"make bench, {str(run['datetime'])[:16]}", rows)


def _named(one: dict[str, Any], color: str) -> Bar:
    spent = float(one["extra_info"]["us_per_launch"])
    given = (one.get("params") or {}).get("given", "each time")
    return Bar(name=f"{one['group']}, {given}", value=spent, said=f"{spent:.2f}", color=color)


def newest(folder: Path) -> Path | None:
    """Return the last run that is kept in a folder, or None."""
    return max(folder.glob("*/*.json"), key=lambda file: file.stat().st_mtime, default=None)


def main() -> int:
    """Write the picture; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", default=newest(FOLDER), metavar="RUN.json")
    parser.add_argument("--output", type=Path, default=FOLDER / "latest.svg", metavar="FILE.svg")
    given = parser.parse_args()
    if given.run is None:
        print(f"there is no run of make bench in {FOLDER}", file=sys.stderr)
        return 2
    given.output.write_text(picture(json.loads(given.run.read_text())))
    print(f"drawn to {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
