#!/usr/bin/env python3
"""Fifty declared kernels in a fresh process with an empty cache: compiled there, or in a pool of processes.

The time runs from the import of the module that declares them until all can be launched; the import of the compiler is
in it. "sum" is what the fifty compiles take in one process, the first of which imports it. Runs of both kinds take
turns; each figure is a median.

On a busy machine seconds say little. Processor time is told too: of the one process; and of the pool's server and its
busiest worker, one after the other, which is what must pass on cores that nobody else uses.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from compile_times.fifty import medians, run


def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="processes of the pool (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind (default: %(default)s)")
    parser.add_argument("--target", default="host", choices=("host", "cuda"), help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the medians as JSON to this file")
    given = parser.parse_args()
    runs: dict[int, list[dict[str, float]]] = {0: [], given.processes: []}
    for _ in range(given.repeats):
        for processes, times in runs.items():
            times.append(run(processes, given.target))
    alone, pooled = (medians(times) for times in runs.values())
    assert (alone["compiles"], pooled["compiles"]) == (50, 0)
    print(f"in one process        ready after {alone['ready']:6.2f} s, sum of the compiles {alone['sum']:6.2f} s")
    in_others = f"in {given.processes} other processes"
    print(f"{in_others:21} ready after {pooled['ready']:6.2f} s, declared after {pooled['declared']:6.2f} s")
    print(
        f"processor time        {alone['busy']:6.2f} s in one process, {pooled['busy']:6.2f} s in a pool's longest line"
    )
    ratios = {
        "of the sum": pooled["ready"] / alone["sum"],
        "of one process": pooled["ready"] / alone["ready"],
        "by processor time": pooled["busy"] / alone["busy"],
    }
    for name, ratio in ratios.items():
        print(f"{name:21} {ratio:6.2f}")
    if given.output:
        given.output.write_text(json.dumps({"alone": alone, "pooled": pooled, **ratios}, indent=2))


if __name__ == "__main__":
    main()
