"""An asker of many stubbed jobs: prints how long the workers took, what was ideal, and the asker's memory, as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fleet_times.stubs import seconds_of_jobs, sleep_for, stubbed
from gridjit.fleet.filling import filled


def memory() -> int:
    """Return this process's resident memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def engine_of(place: str) -> Any:
    """Return the workers of a place as an engine."""
    scheme, _, address = place.partition("://")
    if scheme == "dask":
        import distributed

        from gridjit.fleet.dask import DaskWorkers

        return DaskWorkers(distributed.Client(address), sleep_for)
    import ray

    from gridjit.fleet.ray import RayWorkers

    ray.init("auto", log_to_driver=False, logging_level="ERROR")
    return RayWorkers(sleep_for)


def main(place: str, count: int, mean: float, workers: int) -> None:
    """Have the workers do the jobs, and print the figures."""
    engine, times = engine_of(place), seconds_of_jobs(count, mean)
    for _ in filled(stubbed([0.0] * workers), engine, "nobody"):  # each has imported what it needs
        pass
    started, seen = time.perf_counter(), []
    for _, result in filled(stubbed(times), engine, "nobody"):
        assert result.bundle, result
        seen.append(memory())
    seconds = time.perf_counter() - started
    ideal = max(sum(times) / workers, max(times))
    figures = {
        "jobs": count,
        "workers": workers,
        "seconds": seconds,
        "efficiency": ideal / seconds,
        "engine ms per job": (seconds * workers - sum(times)) / count * 1e3,
        "memory after a tenth, MB": seen[count // 10] / 1e6,
        "memory at the end, MB": seen[-1] / 1e6,
    }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    engine.end()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
