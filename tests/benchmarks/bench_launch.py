"""What launches of an empty kernel cost: 1 and 26 arguments of every kind, lazy and with a declared signature.

    make bench                                                           on a GPU
    pytest tests/benchmarks/bench_launch.py --target host                on the host target

A round is 500 launches; the device is waited for between rounds. The file's name keeps it out of the tests.
"""

from __future__ import annotations

import time

import pytest
from launch_overhead.gridjit_rows import kinds, synchronizer
from launch_overhead.kernels import TAKING, signature
from launch_overhead.timing import BATCH, calls, indexed_calls

import gridjit

ROUNDS = 40
SECONDS = 1.0  # what takes longer gets fewer rounds


def run(benchmark, launch, synchronize):
    launch(BATCH)
    synchronize()
    started = time.perf_counter()
    launch(BATCH)
    rounds = max(5, min(ROUNDS, int(SECONDS / (time.perf_counter() - started))))
    benchmark.pedantic(launch, args=(BATCH,), setup=synchronize, rounds=rounds, warmup_rounds=1)


@pytest.mark.parametrize("given", ["lazy", "eager"])
@pytest.mark.parametrize("what", ["own arrays", "torch tensors", "CuPy arrays", "scalars"])
@pytest.mark.parametrize("count", [1, 26])
def test_500_launches(benchmark, target, count, what, given):
    made = kinds(target, left_out := [])
    if what not in made:
        pytest.skip(next((reason for reason in left_out if reason.startswith(what)), f"the {target} takes no {what}"))
    values = made[what](count)
    kernel = (gridjit.jit if given == "lazy" else gridjit.jit(signature(what, count)))(TAKING[count])
    launch = calls(kernel[1, 1], values)
    benchmark.group = f"{count} {what}"
    run(benchmark, launch, synchronizer(target))
    if benchmark.stats is not None:
        benchmark.extra_info["us_per_launch"] = round(benchmark.stats.stats.median / BATCH * 1e6, 3)


@pytest.mark.parametrize("what", ["own arrays", "scalars"])
def test_500_launches_configured_each_time(benchmark, target, what):
    values = kinds(target, [])[what](1)
    kernel = gridjit.jit(TAKING[1])
    launch = indexed_calls(kernel, values)
    benchmark.group = f"1 {what}"
    run(benchmark, launch, synchronizer(target))
