#!/usr/bin/env python
"""Print what 20 launches of an empty kernel cost one by one, and as a graph; on the GPU, or with GRIDJIT_TARGET=host.

"given" is until the call returns; "done" is until the device has done it, for many in a row.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

import numpy as np

import gridjit
from gridjit import cuda

NODES, LOOPS, REPEATS = 20, 100, 30


@gridjit.jit
def empty() -> None:
    """Do nothing."""


@gridjit.jit
def add(x, amount):  # type: ignore[no-untyped-def]
    """Add to each item."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount


def given(call: Callable[[], None], stream: gridjit.Stream) -> float:
    """Return the microseconds until a call returns, at best."""

    def once() -> float:
        stream.synchronize()
        return timeit.timeit(call, number=LOOPS) / LOOPS

    return min(once() for _ in range(REPEATS)) * 1e6


def done(call: Callable[[], None], stream: gridjit.Stream) -> float:
    """Return the microseconds that the device takes for a call, of many in a row, at best."""

    def once() -> float:
        begun = time.perf_counter()
        for _ in range(LOOPS):
            call()
        stream.synchronize()
        return (time.perf_counter() - begun) / LOOPS

    return min(once() for _ in range(REPEATS)) * 1e6


def compare(name: str, launch: Callable[[], None], stream: gridjit.Stream) -> None:
    """Measure a launch, and a graph of it, and print both."""
    for _ in range(10):
        launch()

    def all_of_them() -> None:
        for _ in range(NODES):
            launch()

    with gridjit.graph(stream) as graph:
        all_of_them()
    graph.launch()
    for how in (given, done):
        one_by_one, together = how(all_of_them, stream), how(graph.launch, stream)
        print(
            f"{name:24} {how.__name__:6} {NODES} launches {one_by_one:8.2f} us   graph {together:8.2f} us   "
            f"ratio {together / one_by_one:.2f}"
        )
    graph.close()


def main() -> None:
    """Measure, and print."""
    stream = gridjit.create_stream(nonblocking=True)
    x = cuda.to_device(np.zeros(32, np.float32))
    bare, adding = empty[1, 1, stream], add[1, 32, stream]
    compare("empty kernels", bare, stream)
    compare("an array and a number", lambda: adding(x, 1.0), stream)


if __name__ == "__main__":
    main()
