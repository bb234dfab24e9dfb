"""Makes, records and closes streams and events, very often, and looks whether memory and handles stay.

    python scripts/soak-streams.py [--cycles 10_000_000] [--every 100]

Each cycle makes a stream and an event, records, waits and closes both; every so many also launches in the stream, and
leaves both to the garbage collector. Prints one line of JSON; exits with 1 if a handle is left, or if memory grew by
more than --grown-kib between the first tenth and the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda
from gridjit.runtime.process.current import create_event, create_stream


@gridjit.jit
def add(values: Any, amount: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] += amount


_KEPT = 5000


class Counted:
    """A device's streams and events, and how many of them were made and not destroyed."""

    def __init__(self, timeline: Any) -> None:
        self._timeline = timeline
        self.live = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._timeline, name)

    def create_stream(self, *given: Any, **named: Any) -> int:
        self.live += 1
        return int(self._timeline.create_stream(*given, **named))

    def create_event(self, *given: Any, **named: Any) -> int:
        self.live += 1
        return int(self._timeline.create_event(*given, **named))

    def destroy_stream(self, stream: int) -> None:
        self.live -= 1
        self._timeline.destroy_stream(stream)

    def destroy_event(self, event: int) -> None:
        self.live -= 1
        self._timeline.destroy_event(event)


def cycle(timeline: Counted, values: Any, *, launches: bool) -> None:
    """Make a stream and an event, use them, and let go of them."""
    stream = create_stream(timeline=timeline)
    event = create_event(timing=False, timeline=timeline)
    if launches:
        add[1, 32, int(stream)](values, 1)
    event.record(stream).wait(stream)
    if launches:
        stream.synchronize()
        return
    event.close()
    stream.close()
    stream.close()


def resident_kib() -> int:
    """Return the memory that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10


def soak(cycles: int, every: int) -> dict[str, Any]:
    """Return what was measured over so many cycles; memory counts from their first tenth on."""
    values, timeline = cuda.to_device(np.zeros(32, np.int64)), Counted(gridjit.current_stream().timeline)
    begun, before = time.perf_counter(), 0
    # A kernel keeps what it launched last in so many streams; from then on, one comes for one that goes.
    filling = min(_KEPT, cycles // every)
    for _ in range(filling):
        cycle(timeline, values, launches=True)
    for number in range(cycles):
        cycle(timeline, values, launches=number % every == 0)
        if number == cycles // 10:
            gc.collect()
            before = resident_kib()
    cuda.synchronize()
    gc.collect()
    wrong = int(values.copy_to_host()[0]) != filling - (-cycles // every)
    return {
        "cycles": cycles,
        "handles_left": timeline.live,
        "grown_kib": resident_kib() - before,
        "launches_lost": wrong,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=10_000_000)
    parser.add_argument("--every", type=int, default=100)
    parser.add_argument("--grown-kib", type=int, default=2048)
    given = parser.parse_args()
    found = soak(given.cycles, given.every)
    print(json.dumps(found))
    return int(bool(found["handles_left"] or found["launches_lost"] or found["grown_kib"] > given.grown_kib))


if __name__ == "__main__":
    sys.exit(main())
