#!/usr/bin/env python3
"""Caches of a fleet: compiles in all, time until all is ready, and the engine's cost for each job.

cold: so many askers start at once with empty caches, and need the same fifty kernels; workers on hosts with empty
caches compile them. The goal is fifty compiles in all. "warm" is the same once the workers have them. In trials with
--kill, a worker is killed when it has compiled some; its results may have to be compiled again.

many: jobs whose compiles only take their time. The ideal is that no worker ever waits.

MPI has no asker: its processes compile a share each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fleet_times.clusters import CLUSTERS, Cluster, environment

from gridjit.compiler.values.signature import plain_signature
from gridjit.runtime.specializations.needs import Need

MODULE = """
import gridjit, fifty_kernels

for body in fifty_kernels.BODIES:
    globals()[body.__name__] = gridjit.jit(body)
"""
NAMES = (
    *("axpy", "stencil", "block_sum", "histogram", "polynomial"),
    *("distances", "waves", "bits", "transpose", "sort_pairs"),
)
KINDS = ("float32", "float64", "int32", "int64", "uint32")
_RANK = """
import os, sys

os.environ["GRIDJIT_CACHE_DIR"] = f"{sys.argv[1]}/host{os.environ['OMPI_COMM_WORLD_RANK']}"
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def write_program(folder: Path) -> None:
    """Write a module with ten kernels, and their needs for five types each."""
    (folder / "ten_kernels.py").write_text(MODULE)
    lines = []
    for name in NAMES:
        for kind in KINDS:
            signature = plain_signature(f"void({kind}[::1], {kind}[::1], {kind}[::1])")
            assert signature is not None
            lines.append(Need(kernel=f"ten_kernels:{name}", signature=signature, config=None, target="host").to_line())
    (folder / "needs.jsonl").write_text("".join(lines))


def ask(cluster: Cluster, folder: Path, askers: int, name: str, kill_at: int | None = None) -> dict[str, Any]:
    """Start askers at once, and return when all have all, and what they said. kill_at: kill a worker by then."""
    command = [sys.executable, "-m", "gridjit", "warm", "--from", "needs.jsonl", "--on", cluster.place, "--json"]
    started = time.perf_counter()
    running = [
        subprocess.Popen(
            command,
            env={**cluster.environment, "GRIDJIT_CACHE_DIR": str(folder / f"{name}{number}")},
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(askers)
    ]
    while kill_at is not None and cluster.compiled() < kill_at and any(one.poll() is None for one in running):
        time.sleep(0.02)
    if kill_at is not None:
        cluster.kill()
    told = [json.loads(one.communicate()[0]) for one in running]
    assert all(not one["failed"] for one in told), told
    here = sum("compiled here" in note for one in told for note in one["notes"])
    return {"seconds": time.perf_counter() - started, "askers that compiled": here}


def cold(engine: str, hosts: int, askers: int, kill_at: int | None) -> dict[str, float]:
    """Return the figures of one trial."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_program(folder)
        with CLUSTERS[engine](folder, hosts) as cluster:
            first = ask(cluster, folder, askers, "cold", kill_at)
            compiled = cluster.compiled()
            again = ask(cluster, folder, askers, "warm")
            alone = one_compile(folder)
    bound = again["seconds"] + alone
    return {
        "compiles": compiled,
        "cold": first["seconds"],
        "warm": again["seconds"],
        "one compile": alone,
        "ratio": first["seconds"] / bound,
        "askers that compiled": first["askers that compiled"],
    }


def one_compile(folder: Path) -> float:
    """Return the seconds of a process that compiles one kernel of the fifty, with the import of the compiler."""
    needs = (folder / "needs.jsonl").read_text().splitlines()[0]
    (folder / "one.jsonl").write_text(needs + "\n")
    variables = {**environment(folder), "GRIDJIT_CACHE_DIR": str(folder / "alone")}
    command = [sys.executable, "-m", "gridjit", "warm", "--from", "one.jsonl", "--json"]
    started = time.perf_counter()
    subprocess.run(command, env=variables, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def ranks(count: int) -> dict[str, float]:
    """Return the figures of processes of MPI: all compile a share, and again with all in their caches."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_program(folder)
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(count), sys.executable, "-c", _RANK]
        words = [str(folder), "-m", "gridjit", "warm", "--from", "needs.jsonl", "--on", "mpi", "--json"]
        seconds, compiled = [], 0
        for _ in range(2):
            started = time.perf_counter()
            done = subprocess.run([*start, *words], env=environment(folder), cwd=folder, capture_output=True, text=True)
            seconds.append(time.perf_counter() - started)
            told = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
            compiled += told["compiled"]
        alone = one_compile(folder)
    bound = seconds[1] + alone
    return {
        "compiles": compiled,
        "cold": seconds[0],
        "warm": seconds[1],
        "one compile": alone,
        "ratio": seconds[0] / bound,
    }


def many(engine: str, workers: int, jobs: int, mean: float) -> dict[str, float]:
    """Return the figures of stubbed jobs."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with CLUSTERS[engine](folder, workers) as cluster:
            words = ["-m", "fleet_times.many", cluster.place, str(jobs), str(mean), str(workers)]
            done = subprocess.run(
                [sys.executable, *words],
                env=cluster.environment,
                cwd=folder,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def show(name: str, figures: dict[str, float]) -> None:
    """Print the figures of a trial in one line."""
    print(f"{name:16}", ", ".join(f"{what} {value:.3g}" for what, value in figures.items()), flush=True)


def main() -> None:
    """Print the figures of the asked trials."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["dask", "ray", "mpi"], choices=("dask", "ray", "mpi"))
    parser.add_argument("--hosts", type=int, default=8, help="workers, each with a cache (default: %(default)s)")
    parser.add_argument("--askers", type=int, default=8, help="cold processes (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=3, help="of each kind (default: %(default)s)")
    parser.add_argument("--kill", type=int, default=1, help="trials in which a worker is killed (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=10_000, help="stubbed jobs; 0 for none (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.1, help="mean time of a stubbed job (default: %(default)s)")
    given = parser.parse_args()
    for engine in given.engines:
        if engine == "mpi":
            if shutil.which("mpirun"):
                for _ in range(given.trials):
                    show("mpi cold", ranks(given.hosts))
            continue
        for _ in range(given.trials):
            show(f"{engine} cold", cold(engine, given.hosts, given.askers, None))
        for number in range(given.kill):
            show(f"{engine} killed", cold(engine, given.hosts, given.askers, 5 + 10 * number))
        if given.jobs:
            show(f"{engine} many", many(engine, given.hosts, given.jobs, given.seconds))


if __name__ == "__main__":
    main()
