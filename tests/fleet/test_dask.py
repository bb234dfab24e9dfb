"""Dask: each job is compiled once in the cluster, whoever asks and whoever dies, and the asker's cache has the code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.conftest import NEEDS, Hosts, launches_without_compiling, warm, with_kernel
from tests.programs import python_path, run_new_python

pytest.importorskip("distributed", reason="pip install '.[dask]'")

Place = Callable[..., str]


@pytest.fixture
def cluster(hosts: Hosts, program: Path) -> Place:
    """Return what starts a scheduler and workers, each a host, and returns the address."""

    def start(*workers: str, **settings: str) -> str:
        port = program / "port"
        hosts.start("scheduler", "-c", SCHEDULER, port, **settings)
        os.mkfifo(port)
        place = f"127.0.0.1:{port.read_text()}"
        for name in workers:
            add(hosts, place, name, **settings)
        if workers:
            run_script(WAIT, place, len(workers))
        return place

    return start


SCHEDULER = """
import asyncio, sys
from distributed import Scheduler

async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        with open(sys.argv[1], "w") as pipe:
            pipe.write(str(scheduler.port))
        await scheduler.finished()

asyncio.run(serve())
"""
WAIT = """
import sys
from distributed import Client

with Client(sys.argv[1]) as client:
    client.wait_for_workers(int(sys.argv[2]), timeout=100)
"""


def add(hosts: Hosts, place: str, name: str, **settings: str) -> None:
    """Start a worker of the scheduler at a place."""
    words = ("--no-nanny", "--nthreads", 1, "--no-dashboard", "--host", "127.0.0.1", "--name", name)
    hosts.start(name, "-m", "distributed.cli.dask_worker", place, *words, **settings)


def run_script(script: str, *words: object) -> str:
    """Return what a program prints that is an asker in a process of its own."""
    done = run_new_python("-c", script, *words, env={**os.environ, "PYTHONPATH": python_path(os.getcwd())})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hosts_compile_each_need_once_and_the_asker_has_all(hosts: Hosts, cluster: Place, program: Path) -> None:
    place = cluster("a", "b")
    status, told = warm(f"dask://{place}", program / "needs.jsonl", program / "asker")
    assert (status, told["compiled"], told["failed"], told["notes"]) == (0, NEEDS, [], [])
    assert hosts.compiled() == NEEDS
    assert launches_without_compiling(program / "asker")
    _, told = warm(f"dask://{place}", program / "needs.jsonl", program / "second")
    assert (told["compiled"] + told["cached"], hosts.compiled()) == (NEEDS, NEEDS)
    _, told = warm(f"dask://{place}", program / "needs.jsonl", program / "second")
    assert (told["compiled"], told["cached"]) == (0, NEEDS)


ASKERS = """
import sys, threading
from distributed import Client
from gridjit.fleet.dask import DaskWorkers
from gridjit.fleet.filling import filled
from gridjit.fleet.jobs import plan

def wanted(dask_scheduler):
    return sum(len(task.who_wants) for key, task in dask_scheduler.tasks.items() if key.startswith("gridjit-"))

jobs = plan(sys.argv[2]).jobs
clients = [Client(sys.argv[1]) for _ in range(2)]
begun = threading.Barrier(3)

class Asker(DaskWorkers):
    def finished(self, seconds):
        if not self._kept:
            begun.wait()
            begun.wait()
        return super().finished(seconds)

def ask(client):
    results.append([result for _, result in filled(jobs, Asker(client), "")])

results = []
asking = [threading.Thread(target=ask, args=[client]) for client in clients]
for one in asking:
    one.start()
begun.wait()
with open("begun") as pipe:
    pipe.read()
while clients[0].run_on_scheduler(wanted) < 2 * len(jobs):
    pass
open("goes on", "w").close()
begun.wait()
for one in asking:
    one.join()
assert results[0][0].bundle == results[1][0].bundle != b"", results
print(sorted(result.origin for asked in results for result in asked))
"""


def make_pipes(folder: Path) -> None:
    """Make the pipes through which a compile of the kernel in held.py says that it begun, and waits."""
    os.mkfifo(folder / "begun")
    os.mkfifo(folder / "goes on")


@pytest.mark.slow
def test_of_two_askers_at_once_both_get_the_one_compile(hosts: Hosts, cluster: Place, program: Path) -> None:
    place = cluster("a", "b")
    make_pipes(program)
    assert run_script(ASKERS, place, with_kernel(program, "held:scale")) == "['compiled', 'compiled']\n"
    assert hosts.compiled() == 1


@pytest.mark.slow
def test_the_job_of_a_killed_worker_is_done_by_another(hosts: Hosts, cluster: Place, program: Path) -> None:
    place = cluster("a", "b")
    make_pipes(program)
    words = ["warm", "--from", str(with_kernel(program, "held:scale")), "--on", f"dask://{place}", "--json"]
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(program / "asker")}
    command = [sys.executable, "-m", "gridjit", *words]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as asker:
        killed = (program / "begun").read_text()
        hosts.kill(killed)
        told, _ = asker.communicate()
    assert (asker.returncode, '"compiled": 1' in told, '"notes": []' in told) == (0, True, True)
    (other,) = {"a", "b"} - {killed}
    assert len([*hosts.cache(other).glob("??/*.o")]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "0"])
def test_a_job_that_ends_two_workers_is_left_to_its_user(
    hosts: Hosts, cluster: Place, program: Path, processes: str
) -> None:
    twice = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    place = cluster("a", "b", "c", GRIDJIT_COMPILE_PROCESSES=processes, **twice)
    status, told = warm(f"dask://{place}", with_kernel(program, "deadly:scale"), program / "asker")
    assert (status, len((program / "deaths").read_text().splitlines())) == (1, 2)
    (failed,) = told["failed"]
    assert failed["kernel"] == "deadly:scale"
    assert "2 workers ended while they compiled it" in failed["error"]
    assert "left to its first launch" in failed["error"]
    status, told = warm(f"dask://{place}", program / "needs.jsonl", program / "asker")
    assert (status, told["compiled"], told["notes"]) == (0, NEEDS, [])


@pytest.mark.slow
def test_a_worker_with_another_toolchain_refuses_and_the_part_is_named(
    hosts: Hosts, cluster: Place, program: Path
) -> None:
    place = cluster("odd", NUMBA_OPT="1")
    status, told = warm(f"dask://{place}", program / "needs.jsonl", program / "asker")
    assert (status, told["compiled"]) == (0, NEEDS)
    (note,) = told["notes"]
    assert "refused it: NUMBA_OPT is 1 there, not not set" in note
    assert note.endswith(f": {NEEDS} jobs were compiled here")
    add(hosts, place, "good")
    run_script(WAIT, place, 2)
    status, told = warm(f"dask://{place}", program / "needs.jsonl", program / "second")
    assert (told["compiled"], told["notes"]) == (NEEDS, [])
    assert (hosts.compiled(), len([*hosts.cache("odd").glob("??/*.o")])) == (NEEDS, 0)


@pytest.mark.slow
def test_a_worker_with_another_kernel_refuses(hosts: Hosts, cluster: Place, program: Path) -> None:
    other = program / "other"
    other.mkdir()
    (other / "opstats.py").write_text((program / "opstats.py").read_text().replace("THRESHOLD = 3", "THRESHOLD = 4"))
    place = cluster("odd", PYTHONPATH=python_path(other))
    _, told = warm(f"dask://{place}", with_kernel(program, "opstats:scale"), program / "asker")
    (note,) = told["notes"]
    assert "opstats:scale is another kernel there" in note
    assert (told["compiled"], hosts.compiled()) == (1, 0)


def test_without_a_worker_all_is_compiled_here_at_once(cluster: Place, program: Path) -> None:
    place = cluster()
    status, told = warm(f"dask://{place}", program / "needs.jsonl", program / "asker")
    assert (status, told["compiled"]) == (0, NEEDS)
    assert told["notes"] == [f"there is no worker at dask://{place}: {NEEDS} jobs were compiled here"]


PLUGIN = """
import os, sys
from pathlib import Path
from distributed import Client
from gridjit.fleet.dask import WarmPlugin

with Client(sys.argv[1]) as client:
    for _ in range(2):
        client.register_plugin(WarmPlugin(Path("kernels.gridjit").read_bytes()))
"""


@pytest.mark.slow
def test_the_plugin_fills_the_caches_of_workers_that_are_there_and_that_join(
    hosts: Hosts, cluster: Place, program: Path
) -> None:
    export = ("-m", "gridjit", "cache", "export", program / "kernels.gridjit")
    assert run_new_python(*export, env={**os.environ, "GRIDJIT_CACHE_DIR": str(program / "recorded")}).returncode == 0
    place = cluster("a")
    run_script(PLUGIN, place)
    add(hosts, place, "b")
    run_script(WAIT, place, 2)
    assert all(launches_without_compiling(hosts.cache(name)) for name in ("a", "b"))


ANCESTORS = """
import os
import opstats

def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

if "FLEET_HOST" in os.environ:
    pid = os.getpid()
    with open(f"{os.path.dirname(__file__)}/ancestors", "w") as file:
        while pid > 1:
            pid = parent(pid)
            print(pid, file=file)
scale = opstats.scale
"""


@pytest.mark.slow
def test_workers_compile_through_the_server_of_their_host(hosts: Hosts, cluster: Place, program: Path) -> None:
    (program / "served.py").write_text(ANCESTORS)
    cache = {"GRIDJIT_CACHE_DIR": str(hosts.cache("a"))}
    hosts.start("server", "-u", "-m", "gridjit", "serve", **cache)
    log = program / "host server" / "log"
    while "gridjit serve: for programs" not in log.read_text():
        assert hosts.running["server"].poll() is None, log.read_text()
    place = cluster("a", GRIDJIT_COMPILE_SERVER="1")
    status, told = warm(f"dask://{place}", with_kernel(program, "served:scale"), program / "asker")
    assert (status, told["compiled"]) == (0, 1)
    assert str(hosts.running["server"].pid) in (program / "ancestors").read_text().split()


@pytest.mark.slow
def test_when_the_scheduler_dies_the_rest_is_compiled_here(hosts: Hosts, cluster: Place, program: Path) -> None:
    place = cluster("a")
    make_pipes(program)
    words = ["warm", "--from", str(with_kernel(program, "held:scale")), "--on", f"dask://{place}", "--json"]
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(program / "asker")}
    command = [sys.executable, "-m", "gridjit", *words]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as asker:
        (program / "begun").read_text()
        hosts.kill("scheduler")
        told, _ = asker.communicate()
    assert (asker.returncode, '"compiled": 1' in told, "1 job was compiled here" in told) == (0, True, True)
