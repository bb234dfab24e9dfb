"""Measure the disk cache: get and put at several sizes, and the time from nothing to a first get in a fresh process.

python scripts/bench-cache.py [--entries 100 10000] [--bytes 8192] [--folder DIR] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from gridjit.cache.disk import DiskStore
from gridjit.cache.key import digest

REPEATS = 7
FRESH = """
import sys, time
start = time.perf_counter()
from gridjit.cache.disk import DiskStore
imported = time.perf_counter()
data = DiskStore(sys.argv[1]).get(sys.argv[2])
done = time.perf_counter()
assert data is not None
print(imported - start, done - imported)
"""
FRESH_PUT = FRESH.replace(".get(sys.argv[2])", ".put(sys.argv[2], b'data', suffix='.o')").replace("assert", "#")


def main() -> None:
    """Print one row per measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[100, 10_000], help="how many the folder holds")
    parser.add_argument("--bytes", type=int, default=8192, help="size of one entry's data")
    parser.add_argument("--folder", help="measure on the file system of this folder (default: the temporary one)")
    parser.add_argument("--output", help="write the results to this file as JSON")
    options = parser.parse_args()
    results = {}
    for entries in options.entries:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            results[f"{entries} entries"] = measure(f"{folder}/cache", entries, options.bytes)
        for name, (mean, spread) in results[f"{entries} entries"].items():
            print(f"{entries:>7} entries  {name:<44} {mean:>10.1f} us  +- {spread:.1f}")
    if options.output:
        with open(options.output, "w") as file:
            json.dump({"bytes": options.bytes, "unit": "us", "mean and stdev": results}, file, indent=1)


def measure(folder: str, entries: int, size: int) -> dict[str, tuple[float, float]]:
    """Return name -> (mean, standard deviation) in microseconds, of a folder that holds so many entries."""
    store, data = DiskStore(folder), bytes(size)
    keys = [digest([("entry", number)]) for number in range(entries)]
    for number, key in enumerate(keys):
        store.put(key, data, suffix=(".cubin", ".json")[number % 2])
    some = keys[:: max(1, entries // 100)]
    absent = [digest([("absent", number)]) for number in range(100)]
    fresh = (digest([("fresh", number)]) for number in range(1_000_000))
    return {
        "get, hit in .cubin": timed(store.get, [key for key in some if store.find(key).suffix == ".cubin"]),  # type: ignore[union-attr]
        "get, hit in .json": timed(store.get, [keys[1]] * 100),
        "get, miss": timed(store.get, absent),
        "put, new key": timed(lambda _: store.put(next(fresh), data, suffix=".cubin"), range(20)),
        "put, known key": timed(lambda key: store.put(key, data, suffix=".cubin"), some[:20]),
        "fresh process: import": in_fresh_process(FRESH, folder, some[0], 0),
        "fresh process: open and first get": in_fresh_process(FRESH, folder, some[0], 1),
        "fresh process: open and first put": in_fresh_process(FRESH_PUT, folder, some[0], 1),
    }


def timed(act: Callable[[object], object] | Callable[[str], object], items: object) -> tuple[float, float]:
    """Return mean and standard deviation of act's time per item over the repeats, in microseconds."""
    listed = list(items)  # type: ignore[call-overload]
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for item in listed:
            act(item)
        times.append((time.perf_counter() - start) / len(listed) * 1e6)
    return statistics.mean(times), statistics.stdev(times)


def in_fresh_process(script: str, folder: str, key: str, column: int) -> tuple[float, float]:
    """Return mean and standard deviation of what script prints in a column, in microseconds."""
    times = []
    for _ in range(REPEATS):
        done = subprocess.run([sys.executable, "-c", script, folder, key], capture_output=True, text=True, check=True)
        times.append(float(done.stdout.split()[column]) * 1e6)
    return statistics.mean(times), statistics.stdev(times)


if __name__ == "__main__":
    main()
