"""Jobs whose compiles are stubs: each sleeps for as long as it says, and returns a bundle of a usual size."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from gridjit.fleet.compiling import Result
from gridjit.fleet.jobs import Job, toolchain_of
from gridjit.runtime.process.session import session

BUNDLE_BYTES = 16 << 10


def seconds_of_jobs(count: int, mean: float) -> list[float]:
    """Return how long each compile takes: drawn as times of compiles are, a few of them ten times the mean."""
    drawn = random.Random(0)
    times = [drawn.lognormvariate(0, 0.8) for _ in range(count)]
    return [mean * one * count / sum(times) for one in times]


def stubbed(times: list[float]) -> Iterator[Job]:
    """Yield a job for each time."""
    toolchain = toolchain_of(session().target("host"))
    for number, seconds in enumerate(times):
        yield Job(
            digest=f"{random.Random(number).getrandbits(256):064x}", need=str(seconds), key="", toolchain=toolchain
        )


def sleep_for(job: Job) -> Result:
    """Take a job's time, on a worker."""
    time.sleep(float(job.need))
    return Result(origin="compiled", bundle=b"x" * BUNDLE_BYTES)
