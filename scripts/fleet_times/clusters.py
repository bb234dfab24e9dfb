"""Clusters of an engine on this machine's loopback; each worker is a host with a cache folder of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1]
_SCHEDULER = """
import asyncio, sys
from distributed import Scheduler

async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.port, flush=True)
        await scheduler.finished()

asyncio.run(serve())
"""
_NODES = """
import sys
from ray.cluster_utils import Cluster

folders = sys.argv[1:]
nodes = [{"num_cpus": 1, "env_vars": {"GRIDJIT_CACHE_DIR": folder}} for folder in folders]
cluster = Cluster(initialize_head=True, head_node_args={**nodes[0], "include_dashboard": False})
for node in nodes[1:]:
    cluster.add_node(**node)
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
cluster.shutdown()
"""


@dataclass
class Cluster:
    """A running cluster. place: for `gridjit warm --on`; hosts: the workers' folders; kill: ends one worker."""

    place: str
    hosts: list[Path]
    environment: dict[str, str]
    kill: Callable[[], None] = lambda: None
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def compiled(self) -> int:
        """Return how many results the hosts have compiled."""
        return sum(len([*host.glob("??/*.o")]) for host in self.hosts)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a host or of an asker, whose kernels' module is in a folder."""
    path = os.pathsep.join(filter(None, (str(folder), str(SCRIPTS), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, "GRIDJIT_TARGET": "host"}


@contextlib.contextmanager
def dask_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a scheduler and workers of one thread each."""
    base = environment(folder)
    hosts = [folder / f"host{number}" for number in range(workers)]
    scheduler = _started(base, "-c", _SCHEDULER)
    assert scheduler.stdout is not None
    place = f"127.0.0.1:{scheduler.stdout.readline().strip()}"
    words = ("-m", "distributed.cli.dask_worker", place, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    made = [_started({**base, "GRIDJIT_CACHE_DIR": str(host)}, *words, "--host", "127.0.0.1") for host in hosts]
    try:
        _wait_for(place, workers, base)
        yield Cluster(f"dask://{place}", hosts, base, made[-1].kill, made)
    finally:
        _end([scheduler, *made])


def _wait_for(place: str, workers: int, base: dict[str, str]) -> None:
    text = f"import distributed; distributed.Client({place!r}).wait_for_workers({workers})"
    subprocess.run([sys.executable, "-c", text], env=base, check=True)


@contextlib.contextmanager
def ray_cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a node of one processor for each worker, in a cluster with a token of its own."""
    base = {**environment(folder), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    hosts = [folder / f"host{number}" for number in range(workers)]
    nodes = _started(base, "-c", _NODES, *map(str, hosts))
    assert nodes.stdout is not None and nodes.stdin is not None
    base["RAY_ADDRESS"] = nodes.stdout.readline().strip()
    told = nodes.stdin

    def kill() -> None:
        told.write("kill\n")
        told.flush()

    try:
        yield Cluster("ray://auto", hosts, base, kill, [nodes])
    finally:
        with contextlib.suppress(OSError):
            told.close()
            nodes.wait(30)
        _end([nodes])


def _started(variables: dict[str, str], *words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *words],
        env=variables,
        stdin=pipe,
        stdout=pipe,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


CLUSTERS = {"dask": dask_cluster, "ray": ray_cluster}
