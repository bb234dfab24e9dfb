"""Measures what streams let happen at once, and what NumPy arguments cost, on the current device.

    python scripts/bench-streams.py [--repeats 7] [--output figures.json]

Prints JSON: on either target, two kernels in two streams as a multiple of one of them ("overlap"), and microseconds of
a launch in the default stream and in a stream without work. On a GPU also NumPy arguments' round trips: of 64 MB as a
multiple of two copies of page-locked memory, of 4 KB as one of cuda.core's copies (of the driver's if it is not there).
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def spin(values: Any, turns: int) -> None:
    i = cuda.grid(1)
    if i < values.size:
        x = values[i]
        for _ in range(turns):
            x = x * 1.0000001 + 0.5
        values[i] = x


@gridjit.jit
def increment(values: Any) -> None:
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


def timed(work: Callable[[], object], repeats: int) -> float:
    """Return the median seconds of work, after one turn that does not count."""
    work()
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


def overlap(repeats: int) -> dict[str, float]:
    """Return how long two kernels in two streams take, as a multiple of one; each fills little of the device."""
    streams = [gridjit.create_stream(nonblocking=True) for _ in range(2)]
    arrays = [cuda.to_device(np.zeros(64)) for _ in streams]
    cuda.synchronize()
    turns = 2_000_000 if _is_gpu() else 400_000

    def run(count: int) -> None:
        for stream, array in zip(streams[:count], arrays, strict=False):
            spin[1, 64, stream](array, turns)
        for stream in streams[:count]:
            stream.synchronize()

    one, two = timed(lambda: run(1), repeats), timed(lambda: run(2), repeats)
    return {"one_ms": one * 1e3, "two_ms": two * 1e3, "overlap": two / one}


def launches(repeats: int, count: int = 2000) -> dict[str, float]:
    """Return microseconds of a launch in each kind of stream, the wait for it outside the timing."""
    values, found = cuda.to_device(np.zeros(64)), {}
    stream = gridjit.create_stream()
    for name, given in (("default", 0), ("stream", stream)):
        configured, times = increment[1, 64, given], []
        for _ in range(10):
            configured(values)
        for _ in range(repeats):
            begun = time.perf_counter()
            for _ in range(count):
                configured(values)
            times.append((time.perf_counter() - begun) / count * 1e6)
            cuda.synchronize()
        found[f"launch_in_{name}_us"] = statistics.median(times)
    return found


def round_trips(repeats: int) -> dict[str, float]:
    """Return what NumPy arguments cost on a GPU, as multiples of copies."""
    large, small = np.zeros(64 << 20, np.uint8), np.zeros(4 << 10, np.uint8)
    found: dict[str, float] = {}
    with gridjit.create_stream() as stream:
        for name, values, base in (("64MB", large, pinned_copies), ("4KB", small, small_copies)):
            kernel = increment[1, 32, stream]
            ours = timed(functools.partial(_launched, kernel, values), repeats)
            theirs = timed(base(values.nbytes, stream), repeats)
            found |= {f"{name}_us": ours * 1e6, f"{name}_base_us": theirs * 1e6, f"{name}_ratio": ours / theirs}
    return found


def _launched(kernel: Any, values: Any) -> None:
    kernel(gridjit.InOut(values))


def pinned_copies(size: int, stream: Any) -> Callable[[], None]:
    """Return what copies so many bytes of page-locked memory to the device and back."""
    here, there = cuda.pinned_array(size, np.uint8), cuda.device_array(size, np.uint8, stream=stream)

    def copy() -> None:
        there.copy_to_device(here, stream=stream)
        there.copy_to_host(here, stream=stream)
        stream.synchronize()

    return copy


def small_copies(size: int, stream: Any) -> Callable[[], None]:
    """Return what copies so many bytes with cuda.core's buffers, or with the driver's calls where it is not there."""
    try:
        core: Any = importlib.import_module("cuda.core")
        device = core.Device()
        device.set_current()
        theirs = device.create_stream(stream)
        here = core.LegacyPinnedMemoryResource().allocate(size)
        there = device.allocate(size, stream=theirs)
    except (ImportError, AttributeError):
        return pinned_copies(size, stream)

    def copy() -> None:
        here.copy_to(there, stream=theirs)
        there.copy_to(here, stream=theirs)
        theirs.sync()

    return copy


def _is_gpu() -> bool:
    return cuda.device_array(1).device is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--output")
    given = parser.parse_args()
    found: dict[str, Any] = {
        "target": "gpu" if _is_gpu() else "host",
        **overlap(given.repeats),
        **launches(given.repeats),
    }
    if _is_gpu():
        found |= round_trips(given.repeats)
    text = json.dumps(found, indent=1)
    if given.output:
        with open(given.output, "w") as file:
            file.write(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
