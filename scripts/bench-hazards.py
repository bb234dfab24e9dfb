#!/usr/bin/env python3
"""Launches with GRIDJIT_CHECK_STREAMS=1 against the same launches without, as processor time and as ratios.

Processes with and without the check take turns; the least of each is printed.

    python scripts/bench-hazards.py [--target host] [--rounds 3] [--count 3000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def rows() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    import numpy as np

    import gridjit
    from gridjit import cuda

    @gridjit.jit
    def nothing(x: Any) -> None:
        pass

    @gridjit.jit
    def combine(x: Any, y: Any, factor: float) -> None:
        if cuda.grid(1) < 0:
            x[0] = y[0] * factor

    x, y, z = (cuda.to_device(np.ones(64)) for _ in range(3))
    cuda.synchronize()
    stream, other = gridjit.create_stream(), gridjit.create_stream()
    default, event = gridjit.default_stream(), gridjit.create_event()
    one, in_stream, three = nothing[1, 32], nothing[1, 32, stream], combine[1, 32]
    in_another = nothing[1, 32, other]

    def swap() -> None:
        three(x, y, 2.0)
        three(y, x, 2.0)

    def from_two_lines() -> None:
        one(x)
        one(x)

    def kernels_in_turns() -> None:
        one(x)
        three(x, y, 2.0)
        one(y)
        three(x, x, 2.0)

    def streams_in_turns() -> None:
        in_stream(z)
        in_another(y)

    def with_event() -> None:
        one(x)
        event.record()

    def with_new_event() -> None:
        one(x)
        default.record()

    def with_wait() -> None:
        in_stream(z)
        other.wait(stream)
        in_another(y)

    return {
        "one array": lambda: one(x),
        "one array, indexed each time": lambda: nothing[1, 32](x),
        "one array, in a stream": lambda: in_stream(z),
        "two arrays and a number": lambda: three(x, y, 2.0),
        "two launches, arrays swapped": swap,
        "one launch, from two lines": from_two_lines,
        "two kernels in turns, of two launches": kernels_in_turns,
        "two streams in turns": streams_in_turns,
        "one array, then an event": with_event,
        "one array, then a new event": with_new_event,
        "two streams, one waits for the other": with_wait,
    }


def measured(work: Callable[[], Any], count: int) -> float:
    """Return the least processor time of one call, in microseconds."""
    from gridjit import cuda

    found = []
    for _ in range(8):
        start = time.process_time()
        for _ in range(count):
            work()
        found.append((time.process_time() - start) / count * 1e6)
        cuda.synchronize()
    return min(found)


def main() -> None:
    """Print each row with and without the check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps({name: measured(work, given.count) for name, work in rows().items()}))
        return
    best: dict[str, dict[str, float]] = {"0": {}, "1": {}}
    command = [sys.executable, __file__, "--one", "--count", str(given.count)]
    for _ in range(given.rounds):
        for check, least in best.items():
            environment = {**os.environ, "GRIDJIT_TARGET": given.target, "GRIDJIT_CHECK_STREAMS": check}
            said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            for name, took in json.loads(said.splitlines()[-1]).items():
                least[name] = min(took, least.get(name, took))
    for name, without in best["0"].items():
        checked = best["1"][name]
        print(f"{name:38} {without:6.2f} us, checked {checked:6.2f} us: {checked / without:5.2f}x")


if __name__ == "__main__":
    main()
